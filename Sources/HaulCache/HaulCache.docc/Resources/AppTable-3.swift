import FoundationEssentials
import HaulCache
import Synchronization

/// The server of the icons. It counts its requests.
final class IconServer: ResourceFetcher {
  let requests = Atomic(0)

  func fetch(_ request: ResourceFetchRequest) async throws(TransferError) -> ResourceResponse {
    requests.add(1, ordering: .relaxed)
    let isLate = request.url.path == "/apps/1"
    do {
      try await Task.sleep(for: .milliseconds(isLate ? 1000 : 200))
    } catch {
      throw TransferError(.cancelled, "nobody waits for this icon any more")
    }
    let now = Date().timeIntervalSince1970
    return ResourceResponse(
      status: 200, headers: ["Cache-Control": "max-age=86400"],
      body: Data("icon of \(request.url.path)".utf8), requestedAt: now, answeredAt: now)
  }
}

/// A row of the table, reused for one app after another.
@MainActor final class Row {
  private let slot = ResourceSlot<String>()
  var isLoading: Bool { slot.isLoading }

  func show(_ app: Int, from icons: ResourceCache<String>) throws {
    let url = try ResourceURL("https://example.org/apps/\(app)")
    slot.load(url, from: icons) { [weak self] content in
      switch content {
      case .placeholder: self?.draw("placeholder of app \(app)")
      case .value(let icon): self?.draw(icon)
      case .failure(let error): self?.draw("no icon: \(error)")
      }
    }
  }

  private func draw(_ text: String) { print(text) }
}

let server = IconServer()
let icons = ResourceCache(fetcher: server) { String(decoding: $0.data, as: UTF8.self) }

let row = Row()
try row.show(1, from: icons)
try row.show(2, from: icons)
while row.isLoading { try await Task.sleep(for: .milliseconds(10)) }
try row.show(2, from: icons)  // from memory: at once, without a placeholder
