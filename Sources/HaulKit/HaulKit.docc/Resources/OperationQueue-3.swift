import HaulKit

let manager = try TransferManager()
manager.register(step: "count") { context in
  for number in 1...1_000 {
    try context.checkpoint()
    context.progress(Int64(number), of: 1_000)
    try await Task.sleep(for: .milliseconds(5))
  }
}
let step = try await manager.add(.step("count"))
try await step.pause()
try await step.resume()
print(try await step.result.state.rawValue)
await manager.shutdown()
