import HaulKit

let manager = try TransferManager()
let requests = try CommandLine.arguments.dropFirst().map { address in
  try TransferRequest.download(ResourceURL(address), to: .directory("downloads"))
}
let transfers = try await manager.add(requests)

for transfer in transfers {
  do {
    print(try await transfer.result.path ?? "")
  } catch {
    print("\(error.code): \(error.message)")
  }
}
await manager.shutdown()
