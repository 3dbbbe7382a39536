import FoundationEssentials
import HaulCache
import Synchronization

/// The server of the icons. It counts its requests.
final class IconServer: ResourceFetcher {
  let requests = Atomic(0)

  func fetch(_ request: ResourceFetchRequest) async throws(TransferError) -> ResourceResponse {
    requests.add(1, ordering: .relaxed)
    if request.url.path == "/apps/2" { throw TransferError(.connect, "there is no network") }
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

let (first, second) = (
  try ResourceURL("https://example.org/apps/1"), try ResourceURL("https://example.org/apps/2")
)
var failures = 0
for _ in 0..<100 {
  do throws(ResourceError) { _ = try await icons.value(for: second) } catch {
    failures += 1  // error.retryAt says when the server is asked again
  }
}
print("offline: \(failures) failures, \(server.requests.load(ordering: .relaxed)) request")

server.requests.store(0, ordering: .relaxed)
icons.prefetch([first])  // with lower priority, until somebody waits for it
icons.purgeMemory()  // after a memory warning
_ = try await icons.value(for: first)
print("purged: \(server.requests.load(ordering: .relaxed)) request")
