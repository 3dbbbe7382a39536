import HaulKit

var configuration = TransferManager.Configuration()
configuration.maximumActive = 1
let manager = try TransferManager(configuration)
let transfer = try await manager.add(
  .download(ResourceURL("https://example.org/1.bin"), to: .directory("downloads")))

try await transfer.cancel(keepingBytes: true)
do {
  try await transfer.retry()
} catch  where error.code == .refused {
  print("not retried: \(error)")
}
await manager.waitUntilEmpty()
_ = try await manager.restart(.filter { $0.state == .failed })
await manager.waitUntilEmpty()
await manager.shutdown()
