// Downloads files through a list that survives the program: kill it at any moment, start it again
// with the same words, and it goes on.
//
//   DurableQueue DIRECTORY URL...

import HaulKit
import HaulStore

let words = CommandLine.arguments.dropFirst()
guard let directory = words.first else {
  print("usage: DurableQueue DIRECTORY URL...")
  throw CancellationError()
}
let manager = try await TransferManager(directory: "\(directory)/queue")
let known = await manager.summaries().count
print(known == 0 ? "a new list" : "\(known) in the list")

// With the key, the same call adds nothing the second time, however the first one ended.
let requests = try words.dropFirst().map {
  try TransferRequest.download(ResourceURL($0), to: .directory(directory))
}
let transfers = try await manager.add(requests, key: "first batch")

for transfer in transfers {
  do {
    let result = try await transfer.result
    print("\(result.path ?? ""): \(result.bytes) bytes, \(result.reused) of them from before")
  } catch {
    print("\(error.message)")
  }
}
await manager.shutdown()
