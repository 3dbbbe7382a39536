import ArgumentParser
import HaulControl
import HaulCore

struct WaitCommand: Command {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Waits until transfers have ended or are paused.",
    discussion: """
      Exit status: 0 all completed; 1 at least one failed; 3 nothing failed, and at least one is \
      paused or blocked, has refused credentials, or was cancelled or removed; 75 the time of \
      --timeout is over, and the transfers go on. Lines say why transfers were not completed: \
      three for each reason, and one that counts the others.
      """)
  @OptionGroup var transfers: SelectionOptions

  @Option(
    help: ArgumentHelp(
      "Wait at most this long (90s, 5m, 1h), then exit with 75; nothing is stopped.",
      valueName: "DURATION"),
    transform: ArgumentValue.duration)
  var timeout: Duration?

  func plan(_ sources: CommandSources) throws(UsageError) -> any CommandPlan {
    let selection = try transfers.selection()
    return ControlPlan(waits: true) { session in
      let (answer, areAllKnown) = try await session.forKnown(selection) {
        (known) async throws(ControlClient.Failure) in try await wait(for: known, session)
      }
      guard let answer else { return .failed }
      guard let answer else {
        await OutputStream.warn("not all have ended in time; they go on, and haul wait may too")
        return .tryAgain
      }
      if answer.isSettled, answer.count == 0, let group = selection.group {
        return await session.isEmpty(group)
      }
      for warning in answer.warnings { await OutputStream.warn(warning) }
      let stopped = answer.paused + answer.cancelled + answer.removed
      if answer.failed + stopped > 0 { try await report(answer, selection, session) }
      if answer.failed > 0 || !areAllKnown { return .failed }
      return stopped > 0 ? .stopped : .completed
    }
  }

  /// - Returns: nil if the time is over.
  private func wait(
    for transfers: Selection, _ session: ControlSession
  ) async throws(ControlClient.Failure) -> WaitResponse? {
    guard let timeout else { return try await session.client.wait(for: transfers) }
    typealias Answer = Result<WaitResponse?, ControlClient.Failure>
    let (client, clock) = (session.client, session.context.clock)
    let end = clock.now + timeout
    let first = await withTaskGroup(of: Answer.self) { group in
      defer { group.cancelAll() }
      group.addTask {
        do throws(ControlClient.Failure) {
          return .success(try await client.wait(for: transfers))
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        try? await clock.sleep(until: end)  // ends when cancelled
        return .success(nil)
      }
      return await group.next() ?? .success(nil)
    }
    return try first.get()
  }

  /// Prints lines about the transfers that were not completed, a few for each reason.
  private func report(
    _ answer: WaitResponse, _ selection: Selection, _ session: ControlSession
  ) async throws(ControlClient.Failure) {
    var reasons = EqualReasons()
    if selection.ids != nil {
      for id in answer.ids { try await report(session.transfer(id), &reasons, session) }
    } else {
      var last: TransferID?
      repeat {
        let page = try await session.client.transfers(after: last, group: selection.group)
        for transfer in page.transfers { await report(transfer, &reasons, session) }
        last = page.next
      } while last != nil
    }
    for line in reasons.lines { await OutputStream.warn(line) }
    guard answer.removed > 0 else { return }
    await OutputStream.warn("removed before they were completed: \(Units.count(answer.removed))")
  }

  private func report(
    _ transfer: TransferDocument?, _ reasons: inout EqualReasons, _ session: ControlSession
  ) async {
    guard let transfer, transfer.state != .completed, reasons.note(transfer) else { return }
    await OutputStream.warn("\(transfer.id): \(await session.explanation(transfer).dropLast())")
  }
}
