import HaulKit

var configuration = Configuration()
configuration.maximumActive = 1
let manager = try TransferManager(configuration)
let transfer = try await manager.add(
  .download(ResourceURL("https://example.org/1.bin"), to: .directory("downloads")))

try await transfer.cancel(keepingBytes: true)
if let refusal = try await transfer.retry() { print("not tried again: \(refusal)") }
await manager.waitUntilEmpty()
try await manager.restart(.filter { $0.state == .failed })
await manager.waitUntilEmpty()
await manager.shutdown()
