import HaulKit

let manager = try TransferManager()
for (place, address) in CommandLine.arguments.dropFirst().enumerated() {
  var request = try TransferRequest.download(ResourceURL(address), to: .directory("downloads"))
  request.priority = place == 0 ? .userInitiated : .background
  let transfer = try await manager.add(request)
  transfer.onEnd { result in print(transfer.id, result.state.rawValue) }
}
await manager.waitUntilEmpty()
await manager.shutdown()
