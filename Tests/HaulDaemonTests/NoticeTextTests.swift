import FoundationEssentials
import HaulControl
import HaulCore
import HaulDaemon
import HaulKit
import Testing

/// The text of notices.
@Suite struct NoticeTextTests {
  private func notices(_ event: QueueEvent, name: String? = nil) -> [Notice] {
    guard case .transfer(let event) = event else { return [] }
    return Notice.notices(of: event, name: name, time: 1)
  }

  @Test func `the three ends differ, and say where or why`() {
    let error = TransferError(.notFound, "the server does not have it (404)")
    let all =
      notices(Ends.event(1)) + notices(Ends.event(2, .failed, path: nil, error: error), name: "b")
      + notices(Ends.event(3, .cancelled, path: nil), name: "c")
    #expect(all.map(\.title) == ["a.iso: completed", "b: failed", "c: cancelled"])
    #expect(all.map(\.text) == ["/d/a.iso", "the server does not have it (404)", ""])
    #expect(all[1].error?.code == .notFound)
    #expect(Set(all.map(\.id)).count == 3)
  }

  @Test func `a file that nothing proves is warned about, also for programs`() throws {
    let result = TransferResult(state: .completed, path: "/d/a.iso", verified: .unverified)
    let notice = try #require(notices(Ends.other(1, .finished(result))).first)
    #expect(notice.text.hasPrefix("warning: nothing shows that the file is whole"))
    #expect(notice.text.hasSuffix("; /d/a.iso"))
    #expect(notice.warning == "unverified" && notice.variables["HAUL_WARNING"] == "unverified")
    #expect(notices(Ends.event(2)).first?.variables["HAUL_WARNING"] == "")
  }

  @Test(arguments: [
    (GroupEnd(name: "g", completed: 3), "group g: all 3 completed", "3 completed"),
    (GroupEnd(name: "g", completed: 1), "group g: completed", "1 completed"),
    (
      GroupEnd(name: "g", completed: 1, failed: 2, cancelled: 1), "group g: 2 of 4 failed",
      "1 completed, 2 failed, 1 cancelled"
    ),
    (
      GroupEnd(name: "g", completed: 1, cancelled: 1), "group g: 1 of 2 cancelled",
      "1 completed, 1 cancelled"
    ),
  ])
  func `a group says how many`(end: GroupEnd, title: String, text: String) {
    let group = notices(Ends.event(1, group: "g", groupEnd: end)).last
    #expect(group?.title == title)
    #expect(group?.text == text)
    #expect(group?.group == "g")
  }

  @Test func `control characters and directions of text are shown as escapes`() {
    let notice = notices(Ends.event(1, path: "/d/\u{1B}[2Ja\u{202E}\n.iso")).first
    #expect(notice?.title == #"\x1b[2Ja\u{202e}\n.iso: completed"#)
    #expect(notice?.name == "\u{1B}[2Ja\u{202E}\n.iso", "programs get the name itself")
  }

  @Test func `the desktop gets no markup, no option, and a sound that differs`() throws {
    let notice = try #require(notices(Ends.event(1, path: #"/d/--x<b>&"\101"#)).first)
    let arguments = DesktopMessage(notice, hasSound: true).arguments
    #expect(arguments.contains("--urgency=normal"))
    #expect(arguments.contains("--hint=string:sound-name:complete-download"))
    #expect(
      arguments.suffix(3) == ["--", #"--x<b>&"\101: completed"#, #"/d/--x&lt;b&gt;&amp;"\\101"#])
    let failed = try #require(notices(Ends.event(1, .failed)).first)
    let loud = DesktopMessage(failed, hasSound: true).arguments
    #expect(loud.contains("--urgency=critical"))
    #expect(loud.contains("--hint=string:sound-name:dialog-error"))
    let silent = DesktopMessage(failed, hasSound: false).arguments
    #expect(silent.contains("--hint=boolean:suppress-sound:true"))
    #expect(!silent.contains { $0.contains("sound-name") })
  }

  @Test
  func `nothing that is shown or passed on is too long for a program, whatever has no width`()
    throws
  {
    let marks = "e" + String(repeating: "\u{301}", count: 200_000)
    let end = GroupEnd(name: marks, completed: 1, failed: 1)
    let error = TransferError(.notFound, marks)
    let all = notices(
      Ends.event(1, .failed, path: nil, error: error, group: marks, groupEnd: end), name: marks)
    #expect(all.count == 2)
    for notice in all + [try #require(Notice.several(all + all))] {
      let arguments = DesktopMessage(notice, hasSound: true).arguments
      #expect(arguments.allSatisfy { $0.utf8.count < 16_384 })
      #expect(notice.variables.values.allSatisfy { $0.utf8.count <= 16_384 })
      #expect(notice.variables["HAUL_NAME"]?.unicodeScalars.contains("\u{FFFD}") == false)
    }
    #expect(all[0].title.utf8.count < 1000 && all[0].title.hasSuffix("…: failed"))
  }

  @Test func `a command gets a name as it is, apart from NUL, as the value of a variable`() throws {
    let name = "-rf\n%s\0\"'$(id)`id`\u{202E}=\u{1B}[2J"
    let notice = try #require(notices(Ends.event(1), name: name).first)
    #expect(notice.variables["HAUL_NAME"] == name.replacing("\0", with: ""))
    #expect(notice.variables["HAUL_TITLE"] == notice.title)
    #expect(!notice.title.unicodeScalars.contains { $0 == "\n" || $0 == "\0" || $0 == "\u{202E}" })
    let arguments = DesktopMessage(notice, hasSound: true, isClickable: true).arguments
    #expect(arguments.lastIndex(of: "--") == arguments.count - 3)
    #expect(arguments.allSatisfy { !$0.unicodeScalars.contains { $0.value < 0x20 } })
  }

  @Test(
    arguments: [
      ("/d/x.desktop", "/d"), ("/x", "/"), ("/d/\u{301}x", "/d"), ("/\u{301}d/x", "/\u{301}d"),
      ("/d\n-e/x", "/d\n-e"), ("/d/-x", "/d"), ("/-d/x", "/-d"), ("/d\u{600}/x", "/d\u{600}"),
      ("-x/y", nil), ("d/x", nil), ("file:///d/x", nil),
    ] as [(String, String?)])
  func `a click opens the directory of the file, by bytes, and never the file`(
    path: String, folder: String?
  ) throws {
    let notice = try #require(notices(Ends.event(1, path: path)).first)
    #expect(
      DesktopClicks.folder(of: notice).map { Array($0.utf8) } == folder.map { Array($0.utf8) })
    let failed = try #require(notices(Ends.event(1, .failed, path: path)).first)
    #expect(DesktopClicks.folder(of: failed) == nil)
  }

  @Test func `the name of a file is what follows the last slash, by bytes`() {
    for name in ["\u{301}x", "a\u{301}", "\u{600}x"] {
      #expect(
        notices(Ends.event(1, path: "/d/\(name)")).first.map { Array($0.name.utf8) }
          == Array(name.utf8))
    }
  }

  @Test func `JSON has every key, and null for what is unknown`() throws {
    let notice = try #require(notices(Ends.event(7)).first)
    let text = String(decoding: try StrictJSON.encode(notice), as: UTF8.self)
    #expect(
      text == #"{"bytes":5,"counts":null,"error":null,"group":null,"id":"ABCDEFGH-7","#
        + #""is_unchanged":false,"#
        + #""kind":"transfer","name":"a.iso","number":7,"path":"/d/a.iso","state":"completed","#
        + #""text":"/d/a.iso","time":1,"title":"a.iso: completed","transfer":"ABCDEFGH","#
        + #""waiting":null,"warning":null}"#)
  }

  @Test func `a secret has no description`() throws {
    let secret = NoticeSecret(Array("canary".utf8))
    let webhook = NoticeSettings.Webhook(url: try ResourceURL("https://h/x"), secret: secret)
    var dumped = ""
    dump(webhook, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), "\(webhook)", dumped] {
      #expect(!text.contains("canary") && !text.contains("\(Array("canary".utf8))"), "\(text)")
    }
  }
}

/// The list of notices.
@Suite struct NoticeListTests {
  private func notices(_ numbers: ClosedRange<Int>) -> [Notice] {
    numbers.flatMap { number -> [Notice] in
      guard case .transfer(let event) = Ends.event(number) else { return [] }
      return Notice.notices(of: event, name: nil, time: 0)
    }
  }

  @Test func `counts what was not seen, and never counts up`() {
    var list = NoticeList(present: 10)
    list.add(notices(11...15), through: 20)
    #expect(list.page.unseen == 5)
    #expect(list.page.notices.map(\.number) == [15, 14, 13, 12, 11])
    list.see(upTo: 13)
    #expect(list.page.unseen == 2)
    list.see(upTo: 11)
    #expect(list.page.unseen == 2)
    list.see(upTo: .max)
    #expect(list.page.unseen == 0)
    list.add(notices(21...21), through: 21)
    #expect(list.page.unseen == 1, "what had not happened was not seen")
  }

  @Test func `is cleared up to a number, and keeps what came later`() {
    var list = NoticeList(present: 0)
    list.add(notices(1...150), through: 150)
    list.clear(upTo: 148)
    #expect(list.page.notices.map(\.number) == [150, 149] && list.page.unseen == 2)
    list.clear(upTo: 100)
    #expect(list.page.notices.count == 2 && list.page.unseen == 2)
    list.clear(upTo: .max)
    #expect(list.page.notices.isEmpty && list.page.unseen == 0)
    list.add(notices(151...151), through: 151)
    #expect(list.page.unseen == 1)
  }

  @Test func `keeps the newest, and counts the others too`() {
    var list = NoticeList(present: 0)
    list.add(notices(1...250), through: 250)
    #expect(list.page.notices.count == NoticeList.limit)
    #expect(list.page.notices.first?.number == 250)
    #expect(list.page.unseen == 250)
    list.see(upTo: 100)
    #expect(list.page.unseen == 250, "those that are not kept may be unseen")
    list.see(upTo: 240)
    #expect(list.page.unseen == 10)
  }
}
