// A download queue that runs one transfer at a time. Commands come from standard input, a line
// each: `pause 2`, `resume 2`, `cancel 2`, `retry 2`, `first 2`, `list`, by the number in the list.
//
//   DownloadQueue DIRECTORY URL...

import HaulKit

let arguments = CommandLine.arguments.dropFirst()
var configuration = TransferManager.Configuration()
configuration.maximumActive = 1
let manager = try TransferManager(configuration)
let transfers = try await manager.add(
  arguments.dropFirst().map {
    try .download(ResourceURL($0), to: .directory(arguments.first ?? "."))
  })
while let line = await Task.detached(operation: { readLine() }).value {
  let words = line.split(separator: " ")
  let number = words.count > 1 ? Int(words[1]) ?? 0 : 0
  do {
    switch (words.first, transfers.indices.contains(number - 1)) {
    case ("pause", true): try await transfers[number - 1].pause()
    case ("resume", true): try await transfers[number - 1].resume()
    case ("cancel", true): try await transfers[number - 1].cancel()
    case ("retry", true): try await transfers[number - 1].retry()
    case ("first", true): try await transfers[number - 1].move(to: .first)
    default:
      for summary in await manager.summaries() { print(summary.id, summary.state.rawValue) }
    }
  } catch { print(error.message) }
}
await manager.waitUntilEmpty()
await manager.shutdown()
