// Three spinning numbers: any key starts and stops them, q ends.
import HaulKit

let manager = try TransferManager()
manager.register(step: "spin") { step in
  for value in 0... {
    try step.checkpoint()  // a pause stops it here
    step.progress(Int64(value % 10))
    try await Task.sleep(for: .milliseconds(50))
  }
}
var (reels, digits): ([Transfer], [TransferID: Int64]) = ([], [:])
var isSpinning = false
@MainActor func draw() {
  let values = reels.map { "\(digits[$0.id] ?? 0)" }.joined(separator: " ")
  let label = isSpinning ? "spinning: any key stops" : "stopped: any key starts"
  Terminal.show("[ \(values) ]  \(label)")
}
Task {
  for await event in manager.events() {
    guard isSpinning, case .progress(let progress) = event.kind else { continue }
    digits[event.id] = progress.bytes
    draw()
  }
}
var reel = TransferRequest.step("spin")
reel.group = "reels"
for await _ in Terminal.keys() {
  if reels.isEmpty { reels = try await manager.add([reel, reel, reel]) }
  // A paused reel has stopped when `pause` returns, so it never turns twice.
  _ = try await isSpinning ? manager.pause(.group("reels")) : manager.resume(.group("reels"))
  isSpinning.toggle()
  draw()
}
await manager.shutdown()
