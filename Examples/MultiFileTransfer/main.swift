// Downloads many files at once, and tells each file's percent and end, and the end of all of them,
// in two ways.
//
//   MultiFileTransfer DIRECTORY URL...
//
// The group way waits for a group: it knows how each member ended. The queue way waits until
// nothing runs or waits any more.

import HaulKit

let words = CommandLine.arguments.dropFirst()
guard let directory = words.first, words.count > 1 else {
  print("usage: MultiFileTransfer DIRECTORY URL...")
  throw CancellationError()
}
let manager = try TransferManager()

/// What a person sees; only the main actor touches it.
@MainActor final class Screen {
  private var percents: [TransferID: Int] = [:]

  func show(_ event: TransferEvent) {
    let name = event.url?.redacted ?? ""
    switch event.kind {
    case .progress(let progress):
      guard let total = progress.total, total > 0 else { return }
      let percent = Int(progress.bytes * 100 / total)
      if percents.updateValue(percent, forKey: event.id) != percent {
        print("\(name): \(percent) %")
      }
    case .finished(let result):
      print("\(name): \(result.error.map { "failed, \($0.message)" } ?? result.state.rawValue)")
    default: break
    }
  }
}

let screen = Screen()
let events = manager.events()
let showing = Task {
  for await event in events { screen.show(event) }
}

// The group way.
let requests = try words.dropFirst().map { address in
  var request = try TransferRequest.download(ResourceURL(address), to: .directory(directory))
  request.group = "files"
  return request
}
try await manager.add(requests)
let outcomes = try await manager.group("files").completion()
// Here, as everywhere in this file, on the main actor.
let completed = outcomes.values.count { $0.state == .completed }
print("all have ended: \(completed) of \(outcomes.count) completed")

// The queue way: the same files are there by now, and are not fetched again.
try await manager.add(requests)
await manager.waitUntilEmpty()
print("the queue is empty: \(await manager.counts[.completed] ?? 0) completed in all")

await manager.shutdown()
await showing.value
