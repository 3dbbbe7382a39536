import HaulCore
import HaulKit

/// Lines for a person. All untrusted text is escaped here.
enum Messages {
  static func usage(_ message: String) -> String { shown("haul: \(message)") }

  static func failure(_ error: TransferError, of url: ResourceURL) -> String {
    about(url, error.commandLineText)
  }

  /// A failed attempt, without its advice: no action is needed yet.
  static func retry(number: Int, _ error: TransferError, delay: Duration, of url: ResourceURL)
    -> String
  {
    let reason = isRequested(delay, error) ? ", as the server asked" : ""
    let time = delay < .milliseconds(50) ? "at once" : "in \(Units.span(delay))"
    return about(url, "\(error.fact); attempt \(number) failed; retrying \(time)\(reason)")
  }

  static func pause(of host: String, _ left: Duration) -> String {
    shown("haul: \(host) asked to wait: no other file of it begins in the next \(Units.span(left))")
  }

  /// The countdown to the next attempt.
  static func wait(_ left: Duration, reason: String) -> String {
    let seconds = Int(max(0, Units.seconds(left)).rounded(.up))
    let time = seconds < 60 ? "\(seconds) s" : Units.clock(seconds: Double(seconds))
    return seconds == 0 ? "retrying now\(reason)" : "retrying in \(time)\(reason)"
  }

  /// Why the next attempt is delayed, in a few words.
  static func waitReason(_ error: TransferError, delay: Duration) -> String {
    isRequested(delay, error) ? ", as the server asked" : shown(": \(error.fact)")
  }

  /// Whether the server asked for this wait: a shorter one that it names is not the reason.
  private static func isRequested(_ delay: Duration, _ error: TransferError) -> Bool {
    error.pause.map { $0 >= delay } ?? false
  }

  static func numbered(_ url: ResourceURL, path: String, reason: String) -> String {
    about(url, "\(reason); haul keeps it, and saves the download as \(path)")
  }

  static func restarted(_ url: ResourceURL, reason: String?) -> String {
    about(url, "\(reason ?? "the bytes on disk cannot be used"); starting over")
  }

  static func paused(_ url: ResourceURL, by initiator: TransferEvent.Initiator) -> String? {
    switch initiator {
    case .signal, .user: nil
    case .disk: about(url, "paused: no space left on the disk")
    case .network: about(url, "paused: the network is down")
    }
  }

  static func started(
    _ name: String, _ url: ResourceURL, total: Int64?, isUpload: Bool
  ) -> String {
    let size = total.map { ", \(Units.bytes($0))" } ?? ""
    return shown("\(name): started\(size), \(isUpload ? "to" : "from") \(url.redacted)")
  }

  /// A line about a running file, or about its next attempt; nil if nothing is known.
  /// - Parameter elapsed: since the run began.
  static func progress(_ file: FileProgress, at elapsed: Duration) -> String? {
    var parts: [String] = []
    if let progress = file.progress {
      parts.append(
        progress.total.map { "\(Units.bytes(progress.bytes)) of \(Units.bytes($0))" }
          ?? Units.bytes(progress.bytes))
      if let percent = progress.percent { parts.append("\(percent)%") }
    }
    if let retry = file.retry {
      parts.append(wait(retry.end - elapsed, reason: retry.reason))
    } else if let progress = file.progress {
      parts.append(Units.rate(progress.rate))
      if let left = progress.secondsLeft { parts.append("\(Units.clock(seconds: left)) left") }
      parts.append("\(progress.connections) connection\(progress.connections == 1 ? "" : "s")")
    }
    let line = parts.filter { !$0.isEmpty }.joined(separator: ", ")
    return line.isEmpty ? nil : shown("\(file.name): \(line)")
  }

  /// A line about all files.
  static func total(_ model: ProgressModel, failed: Int) -> String {
    let (total, left) = (model.total, model.secondsLeft)
    let parts = [
      "\(Units.count(model.ended)) of \(Units.count(model.expected)) files",
      failed > 0 ? "\(Units.count(failed)) failed" : "", Units.bytes(total.bytes),
      Units.rate(total.rate), left.map { "\(Units.clock(seconds: $0)) left" } ?? "",
    ]
    return "haul: " + parts.filter { !$0.isEmpty }.joined(separator: ", ")
  }

  /// What SIGTERM does first with `--worker`.
  static func draining(for time: Duration) -> String {
    "haul: terminated; no other transfer begins, and what runs has \(Units.span(time)) to end"
  }

  /// What the server said about an upload, for standard output: its words, or the address that it
  /// gave the file. Nil if it said nothing that is not known.
  static func reply(to url: ResourceURL?, _ result: TransferResult) -> String? {
    let reply = result.reply
    let other = reply?.location.flatMap { $0 == url?.absoluteString ? nil : $0 }
    return (reply?.text ?? other).map { $0 + "\n" }
  }

  static func completed(_ name: String, _ result: TransferResult, isUpload: Bool) -> String {
    let path = result.path ?? name
    guard !result.isAdopted else {
      return shown("\(path): complete, \(Units.bytes(result.bytes)), published by another run")
    }
    if result.wasThere, result.reused >= result.bytes {
      let size = Units.bytes(result.bytes)
      let there =
        result.verified == nil
        ? "skipped, a file of that name exists (\(size), not checked)"
        : "complete, \(size) already there"
      return shown("\(path): \(there)\(verificationText(result.verified))")
    }
    let reused = result.reused > 0 ? ", \(Units.bytes(result.reused)) from an earlier run" : ""
    return shown(
      "\(path): complete, \(Units.bytes(result.bytes)) in \(Units.span(result.duration))"
        + "\(source(result))\(reused)\(coded(result, isUpload))"
        + verificationText(result.verified))
  }

  /// The cache, or the rate of the network.
  private static func source(_ result: TransferResult) -> String {
    switch result.cacheUse {
    case .hit: return ", from the cache"
    case .revalidated: return ", from the cache: the server has no other version"
    case .miss, .unavailable, nil:
      let seconds = Units.seconds(result.duration)
      return seconds > 0 ? ", \(Units.rate(Double(result.fetched) / seconds))" : ""
    }
  }

  private static func coded(_ result: TransferResult, _ isUpload: Bool) -> String {
    guard let coding = result.coding else { return "" }
    guard !isUpload else { return ", as the source's server sent it: encoded with \(coding)" }
    let remedy = result.hasDecodableCoding ? " (--decode undoes that)" : ""
    return ", as the server sent it: encoded with \(coding)\(remedy)"
  }

  static func warning(_ text: String, _ url: ResourceURL, isFailure: Bool) -> String {
    about(url, isFailure ? "\(text); it counts as failed" : "warning: \(text)")
  }

  static func cancelled(_ url: ResourceURL) -> String { about(url, "cancelled") }

  static func interrupted(
    _ cause: Interruption, paused: Int, resumes: Bool, hasManifest: Bool
  ) -> String {
    let files = paused == 1 ? "1 file is" : "\(paused) files are"
    let remedy =
      resumes
      ? "to resume, if the server allows it"
      : hasManifest ? "to send the rest" : "to send every file again"
    return "haul: \(cause.text); \(files) not complete; run the same command again \(remedy)"
  }

  static func interruptedInput(_ cause: Interruption) -> String {
    "haul: \(cause.text); standard input was not uploaded, and what was read of it is gone"
  }

  static func interruptedStream(_ cause: Interruption) -> String {
    "haul: \(cause.text); only a part of the file was written"
  }

  /// The lines after many files: each failure, then the counts.
  static func summary(_ counts: RunCounts) -> String {
    let numbers = [
      (counts.completed - counts.skipped, counts.areUploads ? "uploaded" : "downloaded"),
      (counts.skipped, "already there"),
      (counts.failed, "failed"), (counts.cancelled, "cancelled"), (counts.paused, "not complete"),
    ]
    let parts = numbers.filter { $0.0 > 0 || $0.1 == "downloaded" }
      .map { "\(Units.count($0.0)) \($0.1)" }
    let seconds = Units.seconds(counts.duration)
    let rate = seconds > 0 ? ", \(Units.rate(Double(counts.fetched) / seconds))" : ""
    return "haul: \(parts.joined(separator: ", ")); \(Units.bytes(counts.fetched)) in "
      + "\(Units.span(counts.duration))\(rate)"
  }

  /// Untrusted text, escaped for one line of a terminal and cut at 2000 characters.
  static func shown(_ text: String) -> String {
    TerminalText.cut(TerminalText.escaped(text), to: 2000)
  }

  static let binary =
    "haul: the file is not text, and standard output is a terminal; save it with -o FILE, or add "
    + "| cat"
  static let endedEarly =
    "haul: internal error: not every transfer has ended; run the same command again to resume"

  private static func verificationText(_ verified: TransferResult.Verification?) -> String {
    switch verified {
    case .checksum: ", checksum verified"
    // A warning says more.
    case .unverified: ", unverified"
    case .length, .framing, nil: ""
    }
  }

  private static func about(_ url: ResourceURL, _ message: String) -> String {
    shown("haul: \(url.redacted): \(message)")
  }
}
