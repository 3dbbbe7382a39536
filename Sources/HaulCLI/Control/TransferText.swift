package import HaulControl
import HaulCore

/// One transfer in words.
package enum TransferText {
  /// Everything that is known, one line for each value.
  package static func details(
    _ transfer: TransferDocument, _ details: DetailsDocument? = nil
  ) -> String {
    let request = details?.request
    let path = transfer.path ?? transfer.lastRun?.path
    let lines: [(String, String?)] = [
      ("id", transfer.id.description), ("your name", transfer.identifier),
      ("kind", transfer.kind.rawValue), ("name", transfer.name),
      ("program", transfer.program.map(commandLine)), ("directory", request?.directory),
      ("url", transfer.url), ("file", joined(details?.sources)),
      ("source", request?.source),
      ("target", path == nil ? request?.target : nil),
      ("checksum", joined(request?.checksums)), ("after", joined(request?.after)),
      // Their values may be secrets.
      ("header", joined(request?.fields).map { "\($0) (values are not shown)" }),
      ("group", transfer.group),
      ("priority", transfer.priority), ("state", transfer.stateText),
      ("phase", transfer.phase), ("waiting", transfer.waiting?.text),
      ("bytes", amount(transfer)),
      ("rate", transfer.state == .running ? Units.rate(transfer.rate) : nil),
      ("time left", transfer.state == .running ? transfer.secondsLeft.map(Units.clock) : nil),
      ("rate limit", transfer.rateLimit.map { Units.rate(Double($0)) }),
      ("starts", transfer.every == nil ? transfer.startsAt.map(LocalTime.text) : nil),
      ("repeats", transfer.every), ("next run", transfer.nextRun.map(LocalTime.text)),
      ("last run", transfer.lastRun?.text),
      ("started", start(transfer).map { "\($0), by haul start" }),
      ("added", transfer.added.map(LocalTime.text)),
      ("began", details?.started.map(LocalTime.text)),
      ("ended", transfer.ended.map(LocalTime.text)), ("path", path),
      ("instead of", otherName(than: path, request?.target)),
      ("published", transfer.result?.result.isAdopted == true ? "by another run" : nil),
      ("warning", transfer.result?.result.warning?.text),
      ("error", transfer.error?.message),
      // Nothing else shows how to give a transfer of the list other credentials.
      ("advice", transfer.error?.isOfCredentials == true ? retry(transfer) : nil),
    ]
    return lines.compactMap { name, value in
      value.map { "\(padded(name))\(Messages.shown($0))\n" }
    }.joined()
  }

  /// A program and its arguments as a shell would read them.
  static func commandLine(_ words: [String]) -> String {
    words.map { word in
      let isPlain = word.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "%+,-./:=@_".utf8.contains(byte)
        }
      }
      guard !isPlain || word.isEmpty else { return word }
      let parts = word.byteSplit(separator: "'", omittingEmptySubsequences: false)
      return "'\(parts.joined(separator: #"'\''"#))'"
    }.joined(separator: " ")
  }

  /// The name that was asked for, if the file has another one.
  private static func otherName(than path: String?, _ target: String?) -> String? {
    guard let name = path?.lastPathName, let wanted = target?.lastPathName,
      !name.isByteEqual(wanted)
    else { return nil }
    return wanted
  }

  private static func joined(_ texts: [String]?) -> String? {
    guard let texts, !texts.isEmpty else { return nil }
    return texts.joined(separator: ", ")
  }

  /// One sentence: why it is in its state, and what would let it continue.
  /// - Parameters:
  ///   - isRemoved: whether the dependency that blocks it is no longer in the list.
  ///   - isPaused: whether the dependency that it waits for is paused.
  ///   - closedLimit: a limit that is 0, so that nothing starts.
  package static func explanation(
    _ transfer: TransferDocument, isRemoved: Bool = false, isPaused: Bool = false,
    closedLimit: String? = nil
  ) -> String {
    let (id, name) = (transfer.id, transfer.name)
    let text =
      switch transfer.state {
      case _ where transfer.state != .queued && transfer.waiting != nil:
        "\(name) has stopped and waits: \(waiting(transfer, isRemoved, isPaused, closedLimit))"
      case .running, .publishing: "\(name) is running; nothing is needed"
      case .stopping where transfer.runsToEnd:
        "\(name) cannot be paused, because it is a program: it runs to its end; "
          + "haul cancel \(id) ends it now"
      case .stopping: "\(name) is stopping; it ends in a moment"
      case .paused: "\(name) is paused; haul resume \(id) lets it continue"
      case .completed:
        "\(name) is completed"
          + "\(transfer.result?.result.warning.map { ", but \($0.text)" } ?? ""); "
          + "haul restart \(id) \(transfer.kind.verb) it again"
      case .cancelled: "\(name) was cancelled; haul retry \(id) queues it again"
      case .failed:
        "\(name) failed: \(transfer.error?.message ?? "for an unknown reason"); "
          + retry(transfer)
      case .queued:
        "\(name) \(start(transfer).map { "was started \($0), and " } ?? "")"
          + "waits: \(waiting(transfer, isRemoved, isPaused, closedLimit))"
          + (transfer.lastRun?.error.map { "; its last run failed: \($0.message)" } ?? "")
      }
    return Messages.shown(text) + "\n"
  }

  private static func start(_ transfer: TransferDocument) -> String? {
    switch transfer.start {
    case "first": "before all others"
    case "forced": "beyond the limits"
    default: nil
    }
  }

  /// What a retry does after this failure, and what must be done before it.
  private static func retry(_ transfer: TransferDocument) -> String {
    let retry = "haul retry \(transfer.id)"
    switch transfer.error?.code {
    case .dependencyFailed: return "retry the dependency first, then: \(retry)"
    case _ where transfer.kind == .step: return "\(retry) runs it again"
    case .needsNewURL: return "set it with haul set \(transfer.id) --url URL, then: \(retry)"
    case .unauthorized, .notTried:
      return
        "\(retry) sends the same credentials again; with --bearer-file FILE, --user NAME or -H it "
        + "sends others"
    case .notFound, .httpStatus, .forbidden, .webPage: return "\(retry) requests it again"
    case .checksumMismatch, .lengthMismatch: return "\(retry) downloads it again"
    case .changedOnServer:
      return "\(retry) tries again with the bytes on disk, haul restart \(transfer.id) without them"
    case .sourceUnreadable where transfer.kind == .upload:
      return "put the file there, then: \(retry)"
    case .sourceChanged where transfer.kind == .upload: return "\(retry) uploads the present file"
    case _ where transfer.kind == .upload:
      return "\(retry) resumes it if the server can, or sends it again"
    case .connectionLost, .timeout, .stalled, .rateLimited, .diskFull:
      return "\(retry) resumes it, or starts over if the server cannot resume"
    default: return "\(retry) tries again"
    }
  }

  private static func waiting(
    _ transfer: TransferDocument, _ isRemoved: Bool, _ isPaused: Bool, _ closedLimit: String?
  ) -> String {
    guard let wait = transfer.waiting else { return "it starts when a slot is free" }
    if let closedLimit {
      return
        "\(wait.message); the limit \(closedLimit) is 0, so nothing starts: raise it on the page "
        + "that haul ui opens"
    }
    let dependency = wait.transfer.map(\.description) ?? ""
    let advice =
      switch wait.code {
      case "host-refusal": "it starts when another transfer from that host ends, or then"
      case "slot" where transfer.start == "forced", "host-limit" where transfer.start == "forced":
        "it starts when a connection is free"
      case "slot", "host-limit":
        "it starts when another transfer ends; haul start --force \(transfer.id) starts it now"
      case "dependency" where isRemoved:
        "the dependency was removed; haul remove \(transfer.id), and add it again without --after"
      case "dependency" where wait.isBlocked == true:
        "haul retry \(dependency) lets both continue"
      case "dependency" where isPaused:
        "that one is paused; haul resume \(dependency) lets both continue"
      case "dependency" where transfer.startsAt != nil:
        "when that one is completed, it waits for its start time"
      case "dependency": "it starts when that one is completed"
      case "disk-full": "it resumes when there is enough room"
      case "directory-missing": "it resumes when the directory is back"
      case "offline": "it resumes when there is a network"
      case "credentials-refused":
        "it resumes with others: haul set \(transfer.id) --bearer-file FILE, --user NAME or -H, "
          + "or a new token in its file; haul start \(transfer.id) tries the same again"
      case "start-time" where wait.next == "suspended":
        "the queue is suspended too; haul start --force \(transfer.id) starts it now"
      case "start-time" where wait.next == "schedule":
        "it is outside the schedule too; haul start --force \(transfer.id) starts it now"
      case "start-time" where transfer.every != nil:
        "it repeats (\(transfer.every ?? "")); haul start \(transfer.id) runs it now"
      case "start-time": "haul start \(transfer.id) lets it start before that time"
      case "schedule": "haul start --force \(transfer.id) starts it now"
      case "suspended":
        "haul unsuspend lets it start; haul start --force \(transfer.id) starts only this one"
      case "host-back-off", "host-outage": "it resumes by itself"
      case "list-not-stored":
        "mostly its disk is full, and the daemon's log has the reason; it continues by itself once "
          + "the list can be stored"
      default: "it resumes by itself; haul start \(transfer.id) tries at once"
      }
    return "\(wait.text); \(advice)"
  }

  private static func amount(_ transfer: TransferDocument) -> String? {
    guard transfer.bytes > 0 || transfer.total != nil else { return nil }
    let total = transfer.total.map { " of \(Units.bytes($0))" } ?? ""
    let percent = transfer.percent.map { ", \($0)%" } ?? ""
    return "\(Units.bytes(transfer.bytes))\(total)\(percent)"
  }

  private static func padded(_ name: String) -> String {
    name + String(repeating: " ", count: max(1, 11 - name.count))
  }
}

extension TransferDocument.Failure {
  /// Whether other credentials may help.
  fileprivate var isOfCredentials: Bool { code == .unauthorized || code == .notTried }
}

extension TransferDocument.LastRun {
  /// `2026-11-30 03:00, completed: 12 MiB`, `…, unchanged`, `…, failed: the server answered 503`.
  var text: String {
    let what =
      if let error {
        "failed: \(error.message)"
      } else {
        isUnchanged == true
          ? "unchanged"
          : ["completed: \(Units.bytes(fetched))", TransferResult.text(ofKept: kept, path: path)]
            .compactMap(\.self).joined(separator: "; ")
      }
    return (ended.map { "\(LocalTime.text($0)), " } ?? "") + what
  }
}

extension TransferRequest.Kind {
  fileprivate var verb: String {
    switch self {
    case .download: "downloads"
    case .upload: "uploads"
    case .step: "runs"
    }
  }
}
