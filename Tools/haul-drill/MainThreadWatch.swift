import Dispatch
import HaulKit
import HaulLibC
import HaulStore

/// Adds, follows and awaits many downloads on the main actor, as a user interface does, while other
/// work runs there in every turn of its queue.
///
/// It prints the longest time between two turns in milliseconds, without the time in which other
/// threads had the processor.
@MainActor final class MainThreadWatch {
  private let drill: Drill
  private let count: Int
  private var isOver = false
  private var ends = 0
  private var longest: Int64 = 0
  private var last = Moment()

  init(_ drill: Drill, _ count: Int) {
    self.drill = drill
    self.count = count
  }

  func run() async throws {
    var configuration = TransferManager.Configuration()
    configuration.maximumActive = 16
    configuration.maximumActivePerHost = 16
    let requests = try await requests()
    last = Moment()
    takeTurn()
    let manager = try await TransferManager(directory: "\(drill.directory)/queue", configuration)
    let follower = Task { await follow(manager.events()) }
    try await manager.add(requests)
    let ends = try await manager.group("all").completion()
    await manager.shutdown()
    await follower.value
    isOver = true
    announce("completed \(ends.values.count { $0.state == .completed })")
    announce("events \(self.ends)")
    announce("longest \(longest)")
  }

  /// Not on the main actor: making the requests is not measured.
  @concurrent private func requests() async throws -> [TransferRequest] {
    let (address, directory) = (drill.address, drill.directory)
    return try (0..<count).map { number in
      var request = TransferRequest.download(
        try ResourceURL("\(address)/\(number)"), to: .directory("\(directory)/files"))
      request.group = "all"
      return request
    }
  }

  private func follow(_ stream: some AsyncSequence<TransferEvent, Never>) async {
    for await event in stream {
      guard case .finished = event.kind else { continue }
      ends += 1
      if ends == 1, let milliseconds = drill.blockMain { usleep(UInt32(milliseconds) * 1000) }
    }
  }

  /// Enqueues itself at once: after a sleep, it would run late on a busy machine.
  private func takeTurn() {
    let now = Moment()
    longest = max(longest, now.milliseconds(since: last))
    last = now
    guard !isOver else { return }
    DispatchQueue.main.async { MainActor.assumeIsolated { self.takeTurn() } }
  }

  /// A time, and how long until then this thread was ready to run while others had the processor.
  private struct Moment {
    private let time = ContinuousClock.now
    private let thread = pthread_self()
    private let waited = Moment.waited

    func milliseconds(since last: Moment) -> Int64 {
      let others = thread == last.thread ? waited - last.waited : 0
      return Int64(((time - last.time) - .nanoseconds(others)) / .milliseconds(1))
    }

    /// In nanoseconds; 0 if the system does not report it: then the time of others counts as
    /// blocked.
    private static var waited: Int64 {
      let file = open("/proc/thread-self/schedstat", O_RDONLY)
      guard file >= 0 else { return 0 }
      defer { close(file) }
      var bytes = [UInt8](repeating: 0, count: 80)
      let length = max(read(file, &bytes, bytes.count), 0)
      let words = bytes.prefix(length)
        .split(separator: UInt8(ascii: " "))
      guard words.count > 1 else { return 0 }
      return Int64(String(decoding: words[1], as: UTF8.self)) ?? 0
    }
  }
}
