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
var configuration = ResourceCacheConfiguration()
configuration.directory = "icons"
let icons = ResourceCache(configuration, fetcher: server) {
  String(decoding: $0.data, as: UTF8.self)
}

let urls = try (1...20).map { try ResourceURL("https://example.org/apps/\($0)") }
icons.prefetch(urls)
for url in urls { _ = try await icons.value(for: url) }
print("\(server.requests.load(ordering: .relaxed)) requests")

// A value is delivered before it is on disk. This program ends when all are.
var metrics = icons.metrics
while metrics.bytesWritten < metrics.bytesFetched, metrics.diskFailures == 0 {
  try await Task.sleep(for: .milliseconds(10))
  metrics = icons.metrics
}
