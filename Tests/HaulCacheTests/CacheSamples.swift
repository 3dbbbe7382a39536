import FoundationEssentials
import HaulCache
import HaulCore

// The samples of docs/cache.md. They are compiled, and not run.

private struct Icon {
  init(_ data: Data) throws {}
}

@MainActor private final class Row {
  func show(_ content: ResourceSlot<Icon>.Content) {}
}

private func readmeOfCache(_ url: ResourceURL) async throws {
  var configuration = ResourceCacheConfiguration()
  configuration.directory = "icons"
  let icons = try ResourceCache(configuration) { try Icon($0.data) }

  let icon = try await icons.value(for: url)  // memory, disk or the server
  let shown = icons.cachedValue(for: url)  // memory only, on this thread
  _ = (icon, shown)
}

@MainActor private func reuse(
  _ row: Row, _ slot: ResourceSlot<Icon>, _ icons: ResourceCache<Icon>, _ url: ResourceURL
) {
  slot.load(url, from: icons) { [weak row] content in row?.show(content) }
}
