import Foundation
import HaulControl
import HaulCore
import HaulTesting
import Testing

/// A directory into which lists are dropped.
extension DaemonQueueRuns {
  @Test
  func `a dropped list is added once and moved; what is no list of its owner is refused`()
    async throws
  {
    try await DaemonFixture.withFiles(["/a", "/b"]) { fixture in
      let (folder, target) = (fixture.work.path("watch"), fixture.work.path("target"))
      let settings = fixture.work.path(".config/haul")
      for path in [folder, target, "\(target)/kinds", settings] {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o700])
      }
      func put(_ text: String, _ name: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        try FileManager.default.setAttributes(
          [.posixPermissions: mode], ofItemAtPath: "\(folder)/\(name)")
      }
      func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(folder)/\(path)")
      }
      try Data("rule = b* -> kinds\n".utf8).write(to: URL(filePath: "\(settings)/haul.conf"))
      let urls = ["/a", "/b"].map { fixture.work.server.url($0) }
      try put(urls[0] + "\n  group=g\n", "list.txt")
      try put("url\n\(urls[1])\n", "t.csv")
      try put(urls[0] + "\n", "being-written")
      let writer = try #require(FileHandle(forWritingAtPath: "\(folder)/being-written"))
      try put("no address\n", "wrong")
      try put(urls[0] + "\n", "open", mode: 0o622)
      try put(urls[0] + "\n", "unfinished.part")
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder)/link", withDestinationPath: "/etc/passwd")
      try #require(mkfifo("\(folder)/pipe", 0o600) == 0)
      let serving = try await fixture.serve("--watch", folder, "--root", target)
      for name in ["done/list.txt", "done/t.csv", "failed/wrong", "failed/open", "failed/pipe"] {
        while !exists(name) { _ = try await fixture.haul("daemon", "status") }
      }
      // A reason gets its name when it is whole.
      for name in ["wrong", "open", "link", "pipe"] {
        while !exists("failed/\(name).reason") { _ = try await fixture.haul("daemon", "status") }
      }
      #expect(exists("unfinished.part") && !exists("list.txt") && !exists("link"))
      #expect(exists("being-written"), "a program has it open")
      for (name, reason) in [
        ("wrong", "line 1"), ("open", "others can write"), ("link", "a link"),
        ("pipe", "no regular file"),
      ] {
        let text = try String(contentsOfFile: "\(folder)/failed/\(name).reason", encoding: .utf8)
        #expect(text.contains(reason), "\(name): \(text)")
      }
      #expect(try await fixture.haul("wait", "--all").status == 0)
      #expect(try await states(fixture) == [.completed, .completed])
      let grouped = try await fixture.haul("list", "--group", "g", "--json").output
      #expect(grouped.split(separator: "\n").count == 1 && grouped.contains(urls[0]))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: target).sorted() == ["a", "kinds"])
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: "\(target)/kinds") == ["b"],
        "as the rule says")
      // As if the daemon had died before it was moved.
      try FileManager.default.moveItem(
        atPath: "\(folder)/done/list.txt", toPath: "\(folder)/list.txt")
      while !exists("done/list.txt") { _ = try await fixture.haul("daemon", "status") }
      #expect(try await states(fixture).count == 2, "the same file is added once")
      #expect(exists("being-written"))
      try writer.close()
      while !exists("done/being-written") { _ = try await fixture.haul("daemon", "status") }
      try await fixture.end()
      let served = await serving.end()
      #expect(served.status == 0)
      for end in ["started, \(urls[0])", "completed, ", "watch: t.csv: 1 in the list"] {
        let line = served.errors.split(separator: "\n").first { $0.contains(end) }
        let hasTime = line?.wholeMatch(of: /[0-9-]{10}T[0-9:]{8}[^ ]* info .+/) != nil
        #expect(hasTime, "\(served.errors)")
      }
      #expect(try await fixture.haul("serve", "--watch", "relative").status == 2)
      // Who may rename the directory could put a link in its place.
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o777], ofItemAtPath: fixture.work.directory)
      #expect(ReplaceablePath.problem(of: folder)?.contains("others may write") == true)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: fixture.work.directory)
      #expect(ReplaceablePath.problem(of: folder) == nil)
    }
  }

  @Test func `no transfer writes a list for the watch folder, also before it is there`()
    async throws
  {
    try await DaemonFixture.withFiles(["/a"]) { fixture in
      let root = fixture.work.path("root")
      let folder = "\(root)/lists"
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
      let serving = try await fixture.serve(
        "--listen", "127.0.0.1:0", "--root", root, "--watch", folder)
      try await serving.reach("it listened") { _, errors in errors.contains("of 127.0.0.1") }
      let port = serving.firstError(matching: /listening on port (\d+)/).flatMap { Int($0) }
      let token = try String(contentsOfFile: try fixture.location().token, encoding: .utf8)
      let remote = RemoteFixture(
        fixture: fixture, port: try #require(port),
        token: token.trimmingCharacters(in: .newlines), root: root)
      let url = fixture.work.server.url("/a")
      for place in [
        #""file":"\#(folder)/list""#, #""directory":"\#(folder)""#,
        #""file":"\#(folder)/done/list","creates_directories":true"#,
      ] {
        let answer = try remote.add(#""url":"\#(url)",\#(place)"#)
        #expect(answer.status == 403 && answer.body.contains("own files"), "\(answer.body)")
      }
      let own = try await fixture.haul("add", url, "-d", folder)
      #expect(own.status == 1 && own.errors.contains("own files"), "\(own.errors)")
      #expect(!FileManager.default.fileExists(atPath: folder))
      let beside = try remote.add(#""url":"\#(url)","file":"\#(root)/lists2""#)
      #expect(beside.status == 201, "\(beside.body)")
      for watched in [root, fixture.work.directory, "\(root)/./"] {
        let refused = try await fixture.haul("serve", "--root", root, "--watch", watched)
        #expect(refused.status == 2 && refused.errors.contains("lists alone"), "\(refused.errors)")
      }
    }
  }
}
