import HaulControl
import HaulTesting
import NIOConcurrencyHelpers
import Testing

/// A job whose setting changes.
@Suite struct NewestSettingTests {
  @Test func `each value has its job, one after the other, until the task is cancelled`()
    async throws
  {
    let setting = NewestSetting(1)
    let log = NIOLockedValueBox<[String]>([])
    let task = Task {
      await setting.run { value in
        log.withLockedValue { $0.append("begin \(value)") }
        // Ends only when it is cancelled.
        for await _ in AsyncStream<Never>.makeStream().stream {}
        await Task.yield()
        log.withLockedValue { $0.append("end \(value)") }
      }
    }
    try await until { log.withLockedValue { $0.last == "begin 1" } }
    setting.set(2)
    try await until { log.withLockedValue { $0.last == "begin 2" } }
    task.cancel()
    await task.value
    #expect(log.withLockedValue { $0 } == ["begin 1", "end 1", "begin 2", "end 2"])
  }
}
