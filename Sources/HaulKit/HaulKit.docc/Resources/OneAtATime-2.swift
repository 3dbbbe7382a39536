import HaulKit

var configuration = TransferManager.Configuration()
configuration.maximumActive = 1
let manager = try TransferManager(configuration)
let first = try await manager.add(
  .download(ResourceURL("https://example.org/1.bin"), to: .directory("downloads")))
let second = try await manager.add(
  .download(ResourceURL("https://example.org/2.bin"), to: .directory("downloads")))

try await first.pause()
try await first.resume()
if let state = await first.summary?.state { print("the first is \(state)") }
print(try await second.result.path ?? "")
print(try await first.result.path ?? "")
await manager.shutdown()
