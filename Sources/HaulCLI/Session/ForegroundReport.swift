import HaulControl
package import HaulCore

/// The output of a run: a value that turns the engine's events into lines.
package struct ForegroundReport: Sendable {
  /// Something to write.
  package enum Output: Hashable, Sendable {
    /// A line for standard error.
    case message(String)
    /// For standard output, with its line break.
    case output(String)
  }

  /// How progress is shown on this standard error.
  package enum ProgressView: Hashable, Sendable { case bar, plain, none }

  package private(set) var model: ProgressModel
  package private(set) var interruption: Interruption?

  private let options: OutputOptions
  private let view: ProgressView
  private let start: Instant
  private var fileIndices = IDIndex()
  /// The state of each file, in the order of its lines.
  private var transfers: [(id: TransferID, url: ResourceURL?, index: Int, isPaused: Bool)] = []
  /// Places in it whose files have ended: those of a long input have no place of their own.
  private var freePlaces: [Int] = []
  private var hasStarted: Set<TransferID> = []
  /// Files whose name has a number, until their first bytes come: one of the files that exist may
  /// still be the requested one.
  private var numbered: [TransferID: (path: String, line: String)] = [:]
  /// When the pauses end that hosts have asked for, in seconds since 1970.
  private var pauses: [String: Double] = [:]
  private var failures = FailureGroups()
  private var summary = RunCounts()
  private var lines = JSONLines()
  private var lastPlain: Instant

  /// The number of each next transfer's address in the arguments, from 1.
  private var indices: ArraySlice<Int>
  private let isLong: Bool

  /// - Parameters:
  ///   - indices: for each transfer, the number of its address in the arguments, from 1.
  ///   - further: how many transfers follow them.
  package init(
    indices: [Int], further: Int = 0, options: OutputOptions, view: ProgressView,
    at start: Instant
  ) {
    model = ProgressModel(expected: indices.count + further)
    self.indices = indices[...]
    isLong = further > 0
    self.options = options
    self.view = view
    self.start = start
    lastPlain = start
  }

  /// Takes the numbers of the next transfers, in their order.
  package mutating func expect(_ indices: [Int]) { self.indices += indices }

  package var expected: Int { model.expected }
  package var files: [FileProgress] { model.files }
  private var ended: Int { summary.ended }
  private var isWorker: Bool { options.drain != nil }
  /// Whether the log of an engine has the lines: many files have no line each, if they do not fail.
  private var isForLog: Bool {
    isWorker && view == .plain && options.progress == .auto && !options.verbose
  }

  /// Whether every transfer has ended.
  package var isDone: Bool { ended >= expected }

  /// Handles one event of the engine.
  /// - Parameter wallSeconds: seconds since 1970, for the JSON line.
  package mutating func handle(
    _ event: TransferEvent, wallSeconds: Double
  ) throws -> [Output] {
    update(for: event)
    var outputs: [Output] = []
    if options.json {
      let index = transfers[fileIndices[event.id].map(Int.init) ?? 0].index
      outputs.append(.output(try lines.line(event, index: index, wallSeconds: wallSeconds)))
    }
    if !options.json, case .finished(let result) = event.kind,
      let reply = Messages.reply(to: event.url, result)
    {
      outputs.append(.output(reply))
    }
    if let line = lateNumber(of: event) { outputs.append(.message(line)) }
    if let line = lateStart(of: event) { outputs.append(.message(line)) }
    if let line = message(for: event) { outputs.append(.message(line)) }
    if let line = pause(in: event, wallSeconds) { outputs.append(.message(line)) }
    // Also if it is quiet: the file may be wrong.
    if case .finished(let result) = event.kind, let warning = result.warning, let url = event.url {
      outputs.append(
        .message(Messages.warning(warning.text, url, isFailure: countsAsFailed(result))))
    }
    if isLong, case .finished = event.kind { freePlace(of: event.id) }
    return outputs
  }

  /// The plain progress lines that are due: one for each running file every 10 s, or one for all
  /// every 30 s.
  package mutating func tick(at now: Instant) -> [Output] {
    model.elapsed = now - start
    guard view == .plain, now - lastPlain >= .seconds(isForLog ? 30 : 10) else { return [] }
    lastPlain = now
    if isForLog { return [.message(Messages.total(model, failed: summary.failed))] }
    return model.active.compactMap { fileIndex in
      Messages.progress(model.files[fileIndex], at: model.elapsed).map { .message($0) }
    }
  }

  /// Notes a signal or the loss of the reader; only the first cause counts.
  package mutating func interrupt(_ cause: Interruption) {
    if interruption == nil { interruption = cause }
  }

  private func countsAsFailed(_ result: TransferResult) -> Bool {
    result.state == .completed && options.state(of: result) == .failed
  }

  /// The last lines, after the engine has stopped.
  package mutating func end(at now: Instant, wallSeconds: Double) throws -> [Output] {
    summary.paused = max(0, expected - ended)
    summary.duration = now - start
    // A transfer that has not ended has no result.
    for file in model.files where !file.hasEnded {
      summary.fetched += max(0, (file.progress?.bytes ?? 0) - (file.firstBytes ?? 0))
    }
    let areMany = (expected > Self.fewFiles || isForLog) && !options.quiet
    var outputs = failures.lines(ofAll: areMany).map(Output.message)
    // Of a few, those that ended have their lines above; an interruption says how far it all is.
    if areMany || interruption != nil && !isDone && expected > 1 && !options.quiet {
      outputs.append(.message(Messages.summary(summary)))
    }
    if !isDone {
      if let interruption {
        let text =
          if options.streams {
            Messages.interruptedStream(interruption)
          } else if options.input != nil {
            Messages.interruptedInput(interruption)
          } else {
            Messages.interrupted(
              interruption, paused: summary.paused, resumes: options.resumes,
              hasManifest: options.hasManifest)
          }
        let isExpected = options.streams && interruption == .outputGone
        if !options.quiet, !isExpected { outputs.append(.message(text)) }
      } else if !options.streams {
        outputs.append(.message(Messages.endedEarly))
      }
    }
    if options.json {
      if interruption != nil { outputs += try lateSuspensions(wallSeconds: wallSeconds) }
      outputs.append(.output(try lines.line(.summary(summary), wallSeconds: wallSeconds)))
    }
    return outputs
  }

  /// Up to this many files need no summary.
  private static let fewFiles = 5

  /// Transfers that did not stop in time count as paused.
  private mutating func lateSuspensions(wallSeconds: Double) throws -> [Output] {
    try transfers.indices.filter { !model.files[$0].hasEnded && !transfers[$0].isPaused }
      .map { fileIndex in
        let event = TransferEvent(
          number: nil, id: transfers[fileIndex].id, url: transfers[fileIndex].url,
          kind: .paused(by: .signal))
        return .output(
          try lines.line(event, index: transfers[fileIndex].index, wallSeconds: wallSeconds))
      }
  }

  /// The status to exit with, once everything has stopped.
  package var status: ExitStatus {
    if interruption == .outputGone { return .outputGone }
    let isDrained = isWorker && [nil, .terminate].contains(interruption)
    guard isDone || isDrained else { return interruption?.status ?? .failed }
    // Also if others failed for good: another run fetches nothing twice.
    if isWorker, !isDone || summary.temporary > 0 { return .tryAgain }
    return summary.completed == expected ? .completed : .failed
  }
}

extension ForegroundReport {
  private mutating func update(for event: TransferEvent) {
    let fileIndex = fileIndex(of: event)
    let elapsed = model.elapsed
    if case .upload = event.identity?.kind { summary.areUploads = true }
    model[fileIndex].apply(event.kind, at: elapsed)
    switch event.kind {
    case .paused: transfers[fileIndex].isPaused = true
    case .resumed: transfers[fileIndex].isPaused = false
    case .finished(let result):
      summary.count(result, as: options.state(of: result))
    default: break
    }
  }

  private mutating func fileIndex(of event: TransferEvent) -> Int {
    if let known = fileIndices[event.id] { return Int(known) }
    // The first event usually has the target, and with it a better name.
    var name = ""
    if case .added(.some) = event.kind {
    } else {
      let address = event.url?.redacted ?? ""
      name = FileProgress.lastComponent(
        address.byteSplit(separator: "?").first.map(String.init) ?? address)
    }
    let transfer = (event.id, event.url, indices.popFirst() ?? 0, false)
    let fileIndex = freePlaces.popLast() ?? transfers.count
    if fileIndex < transfers.count {
      model.replace(at: fileIndex, by: FileProgress(name: name))
      transfers[fileIndex] = transfer
    } else {
      model.append(FileProgress(name: name))
      transfers.append(transfer)
    }
    fileIndices.set(event.id, to: UInt32(fileIndex))
    return fileIndex
  }

  private mutating func freePlace(of id: TransferID) {
    guard let fileIndex = fileIndices.remove(id) else { return }
    freePlaces.append(Int(fileIndex))
    hasStarted.remove(id)
  }

  private mutating func message(for event: TransferEvent) -> String? {
    guard let url = event.url else { return nil }
    if case .finished(let result) = event.kind, let error = result.error {
      let name = fileIndices[event.id].map { model.files[Int($0)].name } ?? url.redacted
      return failures.note(error, of: url, name: name) ? Messages.failure(error, of: url) : nil
    }
    // Also if it is quiet: nobody has asked for that name.
    if case .target(let path, let reason?) = event.kind {
      numbered[event.id] = (path, Messages.numbered(url, path: path, reason: reason))
    }
    guard !options.quiet, let fileIndex = fileIndices[event.id].map(Int.init) else { return nil }
    let file = model.files[fileIndex]
    switch event.kind {
    case .attempt where isForLog, .finished where isForLog: return nil
    case .attempt(let number, let error, let delay):
      return Messages.retry(number: number, error, delay: delay, of: url)
    case .phase(.restarted, let reason):
      return Messages.restarted(url, reason: reason)
    case .progress where [.transferring, .verifying, .publishing].contains(file.phase):
      // Reported with the first progress, not with the phase, because the length is not known
      // before.
      return started(file, event, url, total: file.progress?.total)
    case .paused(let origin):
      return Messages.paused(url, by: origin)
    case .finished(let result):
      guard result.state != .cancelled else { return Messages.cancelled(url) }
      // The warning says it.
      return countsAsFailed(result)
        ? nil
        : Messages.completed(file.name, result, isUpload: event.identity?.kind == .upload)
    case .added, .target, .phase, .waiting, .progress, .resumed, .limited, .connections, .moved,
      .removed, .snapshot:
      return nil
    }
  }

  /// The line for a name with a number, once it is certain that the file is saved under it.
  private mutating func lateNumber(of event: TransferEvent) -> String? {
    switch event.kind {
    case .phase(.transferring, _): return numbered.removeValue(forKey: event.id)?.line
    case .finished(let result):
      let note = numbered.removeValue(forKey: event.id)
      return note?.path == result.path ? note?.line : nil
    default: return nil
    }
  }

  /// The line for a pause that a host has asked for, once for each pause.
  private mutating func pause(in event: TransferEvent, _ wallSeconds: Double) -> String? {
    guard case .waiting(.hostBackOff(let until)) = event.kind, !options.quiet, expected > 1,
      let host = event.url?.origin.authority, until > pauses[host, default: wallSeconds] + 1
    else { return nil }
    pauses[host] = until
    return Messages.pause(of: host, .seconds(until - wallSeconds))
  }

  /// The start of a file that was complete before any progress was reported.
  private mutating func lateStart(of event: TransferEvent) -> String? {
    guard case .finished(let result) = event.kind, result.state == .completed, !options.quiet,
      result.fetched > 0 || result.bytes == 0, let fileIndex = fileIndices[event.id].map(Int.init),
      let url = event.url
    else { return nil }
    return started(model.files[fileIndex], event, url, total: result.bytes)
  }

  /// The line for the start of a file, once for each file.
  private mutating func started(
    _ file: FileProgress, _ event: TransferEvent, _ url: ResourceURL, total: Int64?
  ) -> String? {
    guard view == .plain, !isForLog, hasStarted.insert(event.id).inserted else { return nil }
    let isUpload = event.identity?.kind == .upload
    // As the line of its end: a file that is sent has no path there.
    return Messages.started(
      isUpload ? file.name : file.path, url, total: total, isUpload: isUpload)
  }
}

extension FileProgress {
  /// - Parameter elapsed: since the run began.
  fileprivate mutating func apply(_ kind: TransferEvent.Kind, at elapsed: Duration) {
    switch kind {
    case .added(let target):
      if let target { path = target }
    case .target(let path, _): self.path = path
    case .phase(let phase, _): (self.phase, retry) = (phase, nil)
    case .waiting: phase = nil
    case .paused: (phase, retry) = (nil, nil)
    case .resumed, .limited, .connections, .moved, .removed, .snapshot: break
    case .progress(let progress):
      self.progress = progress
      firstBytes = firstBytes ?? progress.bytes
      // Progress of before the attempt may be reported after it.
      if progress.connections > 0, let end = retry?.end, elapsed >= end { retry = nil }
    case .attempt(_, let error, let delay):
      progress?.stop()
      retry = Retry(end: elapsed + delay, reason: Messages.waitReason(error, delay: delay))
    case .finished(let result): end(result)
    }
  }

  /// Takes the final numbers: a small or existing file reports no progress before.
  private mutating func end(_ result: TransferResult) {
    (hasEnded, retry) = (true, nil)
    progress?.stop()
    if result.state == .completed {
      progress = TransferProgress(bytes: result.bytes, total: result.bytes, rate: 0, connections: 0)
    }
  }
}

extension TransferProgress {
  /// Sets the rate to 0: no bytes arrive while an attempt waits.
  fileprivate mutating func stop() {
    self = TransferProgress(bytes: bytes, total: total, rate: 0, connections: 0)
  }
}
