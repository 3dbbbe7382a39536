import HaulKit

let manager = try TransferManager()
let events = manager.events()
let showing = Task { @MainActor in
  for await event in events {
    let name = event.url?.redacted ?? ""
    switch event.kind {
    case .progress(let progress): print(name, progress.percent.map { "\($0) %" } ?? "…")
    case .finished(let result): print(name, result.state.rawValue)
    default: break
    }
  }
}

let requests = try CommandLine.arguments.dropFirst().map { address in
  try TransferRequest.download(ResourceURL(address), to: .directory("downloads"))
}
try await manager.add(requests)
await manager.waitUntilEmpty()
await manager.shutdown()
await showing.value
