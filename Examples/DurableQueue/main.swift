// Downloads files through a list that survives the program. Kill it at any moment and start it
// again with the same arguments: it finds each transfer by its identifier, and resumes.
//
//   DurableQueue DIRECTORY URL...

import HaulKit
import HaulStore

let arguments = CommandLine.arguments.dropFirst()
let directory = arguments.first ?? "."
let manager = try await TransferManager(directory: "\(directory)/queue")
let known = await manager.counts
print(known.isEmpty ? "a new list" : "\(known.values.reduce(0, +)) in the list")

let requests = try arguments.dropFirst().map { address in
  var request = try TransferRequest.download(ResourceURL(address), to: .directory(directory))
  request.identifier = address
  return request
}
for transfer in try await manager.add(requests) {
  do {
    let result = try await transfer.result
    print("\(result.path ?? ""): \(result.bytes) bytes, \(result.reused) of them from before")
  } catch {
    print("\(error.message)")
  }
}
await manager.shutdown()
