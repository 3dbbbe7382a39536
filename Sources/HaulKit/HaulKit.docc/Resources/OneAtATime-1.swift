import HaulKit

var configuration = TransferManager.Configuration()
configuration.maximumActive = 1
let manager = try TransferManager(configuration)
let events = manager.events()
let showing = Task {
  for await event in events {
    switch event.kind {
    case .waiting(let reason): print(event.id, "waits:", reason.code)
    case .phase(let phase, _): print(event.id, phase)
    default: break
    }
  }
}
let first = try await manager.add(
  .download(ResourceURL("https://example.org/1.bin"), to: .directory("downloads")))
let second = try await manager.add(
  .download(ResourceURL("https://example.org/2.bin"), to: .directory("downloads")))
await manager.waitUntilEmpty()
await manager.shutdown()
await showing.value
