import HaulCLI
import HaulControl
import HaulCore
import Testing

/// The table of haul list.
@Suite
struct ListTableTests {
  private func transfer(
    _ name: String, _ state: TransferState, waiting: TransferDocument.Wait? = nil,
    bytes: Int64 = 0, total: Int64? = nil, rate: Double = 0, error: TransferDocument.Failure? = nil,
    url: String? = nil
  ) throws -> TransferDocument {
    var transfer = TransferDocument(
      id: try #require(TransferID("4FZ0ABCD")), name: name, state: state)
    (transfer.url, transfer.waiting, transfer.error) = (url, waiting, error)
    (transfer.bytes, transfer.total, transfer.rate) = (bytes, total, rate)
    return transfer
  }

  private func wait(_ code: String, _ message: String) -> TransferDocument.Wait {
    TransferDocument.Wait(code: code, message: message)
  }

  @Test func `has the columns that people look for`() throws {
    let table = try ListTable([
      transfer("a.iso", .running, bytes: 1 << 20, total: 4 << 20, rate: 1_048_576),
      transfer("b", .queued, waiting: wait("slot", "all slots are taken")),
      transfer(
        "c", .failed,
        error: .init(code: .notFound, message: "gone", status: 404, isRetryable: false)),
      transfer("d", .completed, bytes: 5, total: 5),
    ])
    #expect(
      table.text(width: nil) == """
        ID        NAME   STATE                           %     SIZE       RATE  LEFT
        4FZ0ABCD  a.iso  running                       25%  4.0 MiB  1.0 MiB/s  0:03
        4FZ0ABCD  b      queued: all slots are taken
        4FZ0ABCD  c      failed: not-found
        4FZ0ABCD  d      completed                    100%      5 B

        """)
  }

  @Test func `a row says of a run that it has changed nothing, or has kept a file`() throws {
    func row(_ result: TransferResult) throws -> String {
      var transfer = try transfer("a", .completed, bytes: 5, total: 5)
      transfer.result = .init(result, isBackground: true)
      return ListTable([transfer]).text(width: nil)
    }
    let result = TransferResult(state: .completed, path: "/d/a (1)", bytes: 5)
    #expect(try row(result.notingUnchanged()).contains("  completed: unchanged  "))
    let kept = "  completed: kept your a; the new one is a (1)  "
    #expect(try row(result.noting(kept: "a")).contains(kept))
    var repeating = try transfer("a", .queued, waiting: wait("start-time", "starts at 05:00"))
    repeating.lastRun = .init(result.notingUnchanged(), ended: 7)
    #expect(ListTable([repeating]).text(width: nil).contains("; last run unchanged"))
  }

  @Test func `groups have a row each, with what all wait for that have not ended`() throws {
    func transfer(
      _ group: String?, _ state: TransferState, _ wait: TransferDocument.Wait? = nil,
      bytes: Int64 = 0, total: Int64? = nil, rate: Double = 0
    ) throws -> TransferDocument {
      var transfer = try self.transfer(
        "a", state, waiting: wait, bytes: bytes, total: total, rate: rate)
      transfer.group = group
      return transfer
    }
    let offline = wait("offline", "there is no network")
    let rows = GroupRow.rows([
      try transfer("z", .queued, offline, total: 6), try transfer(nil, .failed),
      try transfer("a", .running, bytes: 1 << 20, total: 4 << 20, rate: 1_048_576),
      try transfer("a", .queued, offline), try transfer("z", .queued, offline, total: 6),
      try transfer("z", .completed, bytes: 12),
    ])
    let lines = GroupTable(rows).text(width: nil).split(separator: "\n")
    let cells = lines.map { $0.split(separator: #/ {2,}/#).map(String.init) }
    #expect(
      cells == [
        ["GROUP", "STATES", "%", "SIZE", "RATE"],
        ["a", "1 queued, 1 running", "1.0 MiB", "1.0 MiB/s"],
        ["z", "2 queued, 1 completed: there is no network", "50%", "24 B"],
      ])
    #expect(rows.map(\.waiting?.code) == [nil, "offline"] && rows.map(\.total) == [nil, 24])
    let slot = wait("slot", "all slots are taken")
    let mixed = GroupRow.rows([
      try transfer("g", .queued, offline), try transfer("g", .queued, slot),
      try transfer("g", .queued, offline),
    ])
    #expect(mixed.map(\.waiting) == [nil] && mixed[0].reason == "3 queued")
    #expect(rows.map(\.transfers) == [2, 3] && rows[1].states == ["queued": 2, "completed": 1])
  }

  @Test func `the table, show and explain say that nothing proves the file`() throws {
    var transfer = try self.transfer("a.iso", .completed, bytes: 5, total: 5)
    let result = TransferResult(state: .completed, path: "/d/a.iso", verified: .unverified)
    transfer.result = .init(result, isBackground: true)
    #expect(ListTable([transfer]).text(width: nil).contains("  completed: unverified  "))
    let text = "nothing shows that the file is whole"
    #expect(TransferText.details(transfer).contains("warning    \(text)"))
    #expect(TransferText.explanation(transfer).contains("a.iso is completed, but \(text)"))
  }

  @Test func `files of one name have the directories that tell them apart`() throws {
    func names(_ rows: [DistinctNames.Row]) -> [String] { DistinctNames.of(rows) }
    #expect(
      names([("a", "/d/x/p/a"), ("a", "/d/y/p/a"), ("b", "/d/b")]) == ["x/p/a", "y/p/a", "b"])
    #expect(names([("a", "https://h/x/a?k=/v/"), ("a", "https://g/x/a")]) == ["h/x/a", "g/x/a"])
    #expect(names([("a", "/d/a"), ("a", "/d/a")]) == ["a", "a"], "nothing tells them apart")
    #expect(names([("a", nil), ("a", "/d/a")]) == ["a", "d/a"])
    let table = try ListTable([
      transfer("a", .queued, url: "https://h/x/a"), transfer("a", .queued, url: "https://h/y/a"),
    ])
    let text = table.text(width: nil)
    #expect(text.contains("  x/a  ") && text.contains("  y/a  "), "\(text)")
  }

  @Test func `transfers with one reason have three lines, and one that counts the others`() throws {
    var reasons = EqualReasons()
    let refused = wait("credentials-refused", "the host refuses its credentials")
    let own = try (0..<128).filter {
      try reasons.note(transfer("f\($0)", .queued, waiting: refused))
    }
    #expect(own == [0, 1, 2])
    #expect(reasons.note(try transfer("x", .queued, waiting: wait("offline", "no network"))))
    #expect(reasons.note(try transfer("y", .failed)))
    #expect(reasons.lines == ["and 125 more for the same reason as 4FZ0ABCD"])
  }

  @Test func `history has warnings, reasons, and what tells files of one name apart`() {
    func entry(_ kind: LogEntry.Kind, _ directory: String) -> LogEntry {
      var entry = LogEntry(kind, "text", time: 0)
      (entry.name, entry.url) = ("a.iso", "https://h.example/\(directory)/a.iso")
      return entry
    }
    var (doubtful, failed) = (entry(.completed, "x"), entry(.failed, "y"))
    (doubtful.path, doubtful.warning) = (
      "/a/long/directory/of/downloads/x/a.iso", "unverified"
    )
    (failed.code, failed.message) = ("not-found", "the server answered 404")
    let table = HistoryTable([doubtful, failed])
    let wide = table.text(width: nil)
    for part in [
      "completed: unverified", "/a/long/directory/of/downloads/x/a.iso",
      "failed: not-found", "https://h.example/y/a.iso", "the server answered 404",
    ] { #expect(wide.contains(part), "\(wide)") }
    let narrow = table.text(width: 90)
    #expect(narrow.contains("  x/a.iso") && narrow.contains("  y/a.iso"), "\(narrow)")
    #expect(narrow.split(separator: "\n").allSatisfy { TerminalText.width(String($0)) <= 90 })
  }

  @Test func `says that an upload is one`() throws {
    for (state, text) in [
      (TransferState.running, "running: uploading"), (.completed, "completed: uploaded"),
    ] {
      var upload = try transfer("a", state)
      upload.kind = .upload
      #expect(ListTable([upload]).text(width: nil).contains("  a     \(text) "))
    }
  }

  @Test func `Each row begins with a word that --state takes`() throws {
    for state in TransferState.allCases {
      for (kind, phase) in [
        (TransferRequest.Kind.download, nil), (.download, "transferring"), (.upload, nil),
        (.download, "verifying"), (.step, nil),
      ] {
        var one = try transfer("a", state)
        (one.kind, one.phase) = (kind, phase)
        let row = try #require(ListTable([one]).text(width: nil).split(separator: "\n").last)
        let cell = row.dropFirst("4FZ0ABCD  a     ".count)
        let word = String(cell.prefix { $0 != ":" && $0 != " " })
        #expect(try ArgumentValue.states(word) == [state], "\(row)")
      }
    }
  }

  @Test(arguments: 40...120)
  func `fits each width, and keeps id and state longest`(width: Int) throws {
    let long = String(repeating: "名", count: 80)
    let table = try ListTable([
      transfer(long, .running, bytes: 1, total: 3 << 40, rate: 12),
      transfer("x", .queued, waiting: wait("offline", String(repeating: "because ", count: 20))),
      transfer(long, .completed, bytes: 1, total: 1),
    ])
    for line in table.text(width: width).split(separator: "\n") {
      #expect(TerminalText.width(String(line)) <= width, "\(line)")
      #expect(line.hasPrefix("ID ") || line.hasPrefix("4FZ0ABCD"))
    }
  }

  @Test func `a program has its arguments, quoted, safe, and cut in the middle`() throws {
    func name(_ words: String...) throws -> String {
      var program = try transfer("sh", .paused)
      program.program = words
      let text = ListTable([program]).text(width: nil)
      let line = try #require(text.split(separator: "\n").last)
      return String(line.dropFirst("4FZ0ABCD  ".count).dropLast("  paused".count))
    }
    #expect(try name("sh", "-c", "tar xf a.tar") == "sh -c 'tar xf a.tar'")
    #expect(try name("echo", "it's", "") == #"echo 'it'\''s' ''"#)
    #expect(try !name("sh", "-c", "a\u{1B}[2Jb").contains("\u{1B}"))
    let long = try name("sh", "-c", String(repeating: "x", count: 100) + "the end")
    #expect(TerminalText.width(long) == 80 && long.hasSuffix("the end'") && long.contains("…"))
  }

  @Test func `show has what was asked for, and no value of a header field`() throws {
    var program = try transfer("sh", .queued)
    program.program = ["sh", "-c", "exit 3"]
    var details = DetailsDocument(id: program.id)
    details.sources = ["/a", "/b"]
    details.request = .init(
      directory: "/work", source: "https://h/x", target: "/d/x.iso", after: ["7QX1ABCE", "mine"],
      checksums: ["md5=00"], fields: ["Authorization", "X-Team"])
    let text = TransferText.details(program, details)
    for line in [
      "program    sh -c 'exit 3'\n", "directory  /work\n", "file       /a, /b\n",
      "source     https://h/x\n",
      "target     /d/x.iso\n", "checksum   md5=00\n", "after      7QX1ABCE, mine\n",
      "header     Authorization, X-Team (values are not shown)\n",
    ] { #expect(text.contains(line), "\(text)") }
    program.path = "/d/x (1).iso"
    #expect(!TransferText.details(program, details).contains("target"))
    #expect(TransferText.details(program, details).contains("instead of x.iso\n"))
    program.path = "/d/x.iso"
    #expect(!TransferText.details(program, details).contains("instead of"))
  }

  @Test func `escapes names from outside`() throws {
    let text = try ListTable([transfer("a\u{1B}[2Jb", .paused)]).text(width: nil)
    #expect(!text.contains("\u{1B}"))
  }

  @Test(arguments: [
    (TransferState.paused, "haul resume 4FZ0ABCD"), (.failed, "haul retry 4FZ0ABCD"),
    (.cancelled, "haul retry 4FZ0ABCD"), (.completed, "haul restart 4FZ0ABCD"),
    (.queued, "when a slot is free"), (.running, "nothing is needed"),
  ])
  func `each state is explained in one line that says what to do`(
    state: TransferState, part: String
  ) throws {
    let text = TransferText.explanation(try transfer("x", state))
    #expect(text.contains(part))
    #expect(text.split(separator: "\n").count == 1)
  }

  @Test(
    arguments: [
      (.connectionLost, "haul retry 4FZ0ABCD resumes it, or starts over"),
      (.notFound, "haul retry 4FZ0ABCD requests it again"),
      (.unauthorized, "4FZ0ABCD sends the same credentials again; with --bearer-file FILE"),
      (.checksumMismatch, "haul retry 4FZ0ABCD downloads it again"),
      (.needsNewURL, "haul set 4FZ0ABCD --url URL, then: haul retry 4FZ0ABCD"),
      (.dependencyFailed, "retry the dependency first, then: haul retry 4FZ0ABCD"),
      (.tls, "haul retry 4FZ0ABCD tries again"),
    ] as [(TransferError.Code, String)])
  func `a failure says what a retry does, and what must be done before it`(
    code: TransferError.Code, part: String
  ) throws {
    let error = TransferDocument.Failure(
      code: code, message: "why", status: nil, isRetryable: false)
    let text = TransferText.explanation(
      try transfer("x", .failed, error: error, url: "http://localhost/x"))
    #expect(text.hasPrefix("x failed: why; "))
    #expect(text.contains(part))
  }

  @Test func `a refused password is shown with the way to give another one`() throws {
    let error = TransferDocument.Failure(
      code: .unauthorized, message: "why", status: 401, isRetryable: false)
    let failed = try transfer("x", .failed, error: error, url: "http://localhost/x")
    #expect(TransferText.details(failed).contains("with --bearer-file FILE, --user NAME or -H"))
  }

  @Test func `a program that failed or completed is run again, because it keeps no bytes`() throws {
    let error = TransferDocument.Failure(
      code: .io, message: "tar ended with exit code 2", status: nil, isRetryable: false)
    var program = try transfer("tar", .failed, error: error)
    program.kind = .step
    #expect(TransferText.explanation(program).contains("haul retry 4FZ0ABCD runs it again"))
    program.state = .completed
    #expect(TransferText.explanation(program).contains("haul restart 4FZ0ABCD runs it again"))
  }

  @Test func `an upload that failed or completed is uploaded again`() throws {
    let error = TransferDocument.Failure(
      code: .connectionLost, message: "lost", status: nil, isRetryable: true)
    var upload = try transfer("a.pdf", .failed, error: error, url: "http://localhost/x")
    upload.kind = .upload
    let failed = TransferText.explanation(upload)
    #expect(failed.contains("haul retry 4FZ0ABCD resumes it if the server can, or sends it again"))
    upload.state = .completed
    let completed = TransferText.explanation(upload)
    #expect(completed.contains("haul restart 4FZ0ABCD uploads it again"))
  }

  @Test
  func `a program that should stop and cannot be paused is not said to end in a moment`() throws {
    var program = try transfer("tar", .stopping)
    #expect(TransferText.explanation(program).contains("in a moment"))
    program.runsToEnd = true
    let text = TransferText.explanation(program)
    #expect(text.hasPrefix("tar cannot be paused, because it is a program: it runs to its end; "))
    #expect(text.contains("haul cancel 4FZ0ABCD ends it now"))
    #expect(TransferText.details(program).contains("state      stopping: runs to its end"))
    #expect(ListTable([program]).text(width: nil).contains("  stopping: runs to its end"))
  }

  @Test func `a dependency that is paused is named, with what lets both continue`() throws {
    var wait = wait("dependency", "waiting for 7QX1ABCE")
    wait.transfer = TransferID("7QX1ABCE")
    let text = TransferText.explanation(
      try transfer("x", .queued, waiting: wait), isPaused: true)
    #expect(text.contains("that one is paused; haul resume 7QX1ABCE lets both continue"))
  }

  @Test func `a limit of 0 is named, because no other end starts the transfer`() throws {
    let text = TransferText.explanation(
      try transfer("x", .queued, waiting: wait("host-limit", "why")),
      closedLimit: "connections_per_host")
    #expect(text.contains("connections_per_host is 0") && text.contains("haul ui"))
    #expect(!text.contains("when another transfer ends"))
  }

  @Test(arguments: [("first", "before all others"), ("forced", "beyond the limits")])
  func `a transfer that was started says so while it waits, and names no command to start it`(
    start: String, part: String
  ) throws {
    var started = try transfer("x", .queued, waiting: wait("slot", "why"))
    started.start = start
    let text = TransferText.explanation(started)
    #expect(text.hasPrefix("x was started \(part), and waits: why; "))
    #expect(text.contains("--force") == (start == "first"))
    #expect(TransferText.details(started).contains("started    \(part)"))
  }

  @Test(arguments: [
    (nil, "haul start 4FZ0ABCD lets"), ("suspended", "haul start --force 4FZ0ABCD"),
    ("schedule", "haul start --force 4FZ0ABCD"),
  ])
  func `a start time is followed by what else holds the transfer, and by the step that starts it`(
    next: String?, part: String
  ) throws {
    var waiting = wait("start-time", "starts later")
    waiting.next = next
    #expect(TransferText.explanation(try transfer("x", .queued, waiting: waiting)).contains(part))
    var blocked = try transfer("x", .queued, waiting: wait("dependency", "waiting for y"))
    blocked.startsAt = 1
    #expect(TransferText.explanation(blocked).contains("it waits for its start time"))
  }

  @Test(arguments: [
    ("slot", "haul start --force"), ("suspended", "haul unsuspend"), ("offline", "a network"),
    ("disk-full", "enough room"), ("retry", "haul start 4FZ0ABCD tries at once"),
  ])
  func `each reason to wait says what ends the wait`(code: String, part: String) throws {
    let text = TransferText.explanation(try transfer("x", .queued, waiting: wait(code, "why")))
    #expect(text.hasPrefix("x waits: why; "))
    #expect(text.contains(part))
  }

  @Test(arguments: [TransferState.running, .publishing, .stopping])
  func `one whose end cannot be stored says so, in each state`(state: TransferState) throws {
    let unstored = try transfer("x", state, waiting: wait("list-not-stored", "why"))
    #expect(TransferText.explanation(unstored).hasPrefix("x has stopped and waits: why; mostly"))
    #expect(ListTable([unstored]).text(width: nil).contains("\(state.rawValue): why"))
  }
}
