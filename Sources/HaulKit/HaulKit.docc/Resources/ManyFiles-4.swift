import HaulKit

let manager = try TransferManager()
let requests = try CommandLine.arguments.dropFirst().map { address in
  var request = try TransferRequest.download(ResourceURL(address), to: .directory("downloads"))
  request.group = "season"
  return request
}
try await manager.add(requests)

let outcomes = try await manager.group("season").completion()
let failed = outcomes.values.filter { $0.state != .completed }
print("\(outcomes.count - failed.count) completed")
for result in failed { print(result.error?.message ?? result.state.rawValue) }
await manager.shutdown()
