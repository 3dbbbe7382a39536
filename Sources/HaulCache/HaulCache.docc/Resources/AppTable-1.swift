import FoundationEssentials
import HaulCache
import Synchronization

/// The server of the icons. It counts its requests.
final class IconServer: ResourceFetcher {
  let requests = Atomic(0)

  func fetch(_ request: ResourceFetchRequest) async throws(TransferError) -> ResourceResponse {
    requests.add(1, ordering: .relaxed)
    do {
      try await Task.sleep(for: .milliseconds(200))
    } catch {
      throw TransferError(.cancelled, "nobody waits for this icon any more")
    }
    let now = Date().timeIntervalSince1970
    return ResourceResponse(
      status: 200, headers: ["Cache-Control": "max-age=86400"],
      body: Data("icon of \(request.url.path)".utf8), requestedAt: now, answeredAt: now)
  }
}

let server = IconServer()
let icons = ResourceCache(fetcher: server) { String(decoding: $0.data, as: UTF8.self) }

let url = try ResourceURL("https://example.org/apps/1")
try await withThrowingTaskGroup(of: String.self) { group in
  for _ in 0..<1000 { group.addTask { try await icons.value(for: url) } }
  for try await icon in group { precondition(icon == "icon of /apps/1") }
}
print(server.requests.load(ordering: .relaxed))
