import HaulKit

var configuration = TransferManager.Configuration()
configuration.maximumActive = 1
let manager = try TransferManager(configuration)
let transfers = try await manager.add(
  (1...9).map { number in
    try TransferRequest.download(
      ResourceURL("https://example.org/\(number).bin"), to: .directory("downloads"))
  })

_ = try await manager.move([transfers[8].id, transfers[7].id], to: .first)
try await transfers[4].start()
try await transfers[5].start(force: true)
print(await manager.summaries().map(\.id))
await manager.waitUntilEmpty()
await manager.shutdown()
