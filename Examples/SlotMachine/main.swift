// Three spinning numbers: any key starts and stops them, q ends.
//
//   SlotMachine

import Foundation
import HaulKit

var configuration = TransferManager.Configuration()
configuration.maximumActive = 3
let manager = try TransferManager(configuration)
let isTerminal = isatty(STDOUT_FILENO) == 1
let machine = await Machine(manager) { line in
  // In place on a terminal; a line each elsewhere.
  let text = isTerminal ? "\r\(line)\u{1B}[K" : "\(line)\n"
  // At once, and without the lock that the thread which waits for a key holds: `fflush(nil)` would
  // wait for it.
  FileHandle.standardOutput.write(Data(text.utf8))
}
let events = manager.events()
let drawing = Task {
  for await event in events { machine.take(event) }
}
for await _ in Keyboard.keys() { try await machine.press() }
_ = try await manager.cancel(.all)
await manager.shutdown()
await drawing.value
print()
