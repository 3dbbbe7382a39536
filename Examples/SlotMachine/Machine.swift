import HaulKit

/// Three numbers that spin until the button is pressed, and spin again when it is pressed once
/// more.
///
/// However fast the button is pressed there are never two of one reel, and it is never dead:
/// presses are carried out one after the other, and a pause returns when the reel stands still.
@MainActor final class Machine {
  private static let reels = 3
  private let manager: TransferManager
  private var values = [Int](repeating: 0, count: reels)
  private var numbers: [TransferID: Int] = [:]
  private var isSpinning = false
  private let show: (String) -> Void

  /// - Parameter show: what is done with the line that a person sees.
  init(_ manager: TransferManager, show: @escaping @Sendable (String) -> Void) async {
    self.manager = manager
    self.show = show
    await manager.register(step: "spin") { context in
      var value = Int64(0)
      while true {
        // Where the button stops it.
        try context.checkpoint()
        value = (value + 1) % 10
        context.progress(value)
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  /// Starts or stops all three; returns when they spin, or stand still.
  func press() async throws {
    if numbers.isEmpty {
      try await add()
    } else if isSpinning {
      _ = try await manager.pause(.group("reels"))
    } else {
      _ = try await manager.resume(.group("reels"))
    }
    isSpinning.toggle()
    draw()
  }

  private func add() async throws {
    let requests = (0..<Self.reels).map { _ in
      var request = TransferRequest.step("spin")
      request.group = "reels"
      return request
    }
    for (number, reel) in try await manager.add(requests).enumerated() { numbers[reel.id] = number }
  }

  /// Takes in what the reels tell.
  func take(_ event: TransferEvent) {
    guard isSpinning, let number = numbers[event.id], case .progress(let progress) = event.kind
    else { return }
    values[number] = Int(progress.bytes)
    draw()
  }

  private func draw() {
    let digits = values.map(String.init).joined(separator: " ")
    show("[ \(digits) ]  \(isSpinning ? "spinning: any key stops" : "stopped: any key starts")")
  }
}
