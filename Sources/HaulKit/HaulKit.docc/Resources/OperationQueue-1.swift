import HaulKit

var configuration = TransferManager.Configuration()
configuration.maximumActive = 2
let manager = try TransferManager(configuration)

await manager.suspend()
for address in CommandLine.arguments.dropFirst() {
  try await manager.add(.download(ResourceURL(address), to: .directory("downloads")))
}
print("\(await manager.counts[.queued] ?? 0) wait")
await manager.unsuspend()
await manager.setLimits(maximumActive: 4, maximumActivePerHost: 4)
await manager.waitUntilEmpty()
await manager.shutdown()
