// Downloads files at once. Prints the percent and the end of each, then the end of all in two ways:
// a group knows how each of its members ended; the queue is empty when nothing runs or waits.
//
//   MultiFileTransfer DIRECTORY URL...

import HaulKit

let arguments = CommandLine.arguments.dropFirst()
let requests = try arguments.dropFirst().map { address in
  var request = try TransferRequest.download(
    ResourceURL(address), to: .directory(arguments.first ?? "."))
  request.group = "files"
  return request
}
let manager = try TransferManager()
let events = manager.events()
let printing = Task { @MainActor in
  for await event in events {
    let name = event.url?.redacted ?? ""
    switch event.kind {
    case .progress(let progress): print("\(name): \(progress.percent.map { "\($0) %" } ?? "…")")
    case .finished(let result): print("\(name): \(result.error?.message ?? result.state.rawValue)")
    default: break
    }
  }
}
try await manager.add(requests)
let results = try await manager.group("files").completion().values
print("all have ended: \(results.count { $0.state == .completed }) of \(results.count) completed")

try await manager.add(requests)  // complete files are not downloaded again
await manager.waitUntilEmpty()
print("the queue is empty: \(await manager.counts[.completed] ?? 0) completed in all")
await manager.shutdown()
await printing.value
