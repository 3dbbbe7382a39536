import HaulCLI
import HaulCore

let fileTargets = [
  Target(name: "netrc") { input in
    let parts = input.parts
    guard let netrc = try? Netrc(parts[0]) else { return }
    let host = parts.count > 1 ? parts[1] : "h.example"
    guard let found = try? netrc.credentials(host: host) else { return }
    let again = try? netrc.credentials(host: host.uppercased().lowercased(), user: found.user)
    // A name or a password alone is not the entry of a user.
    let isWhole = !found.user.isEmpty && !found.password.isEmpty
    if isWhole, host.utf8.allSatisfy({ $0 < 0x80 }) {
      expect(again?.user == found.user, "the user's own entry is not found")
    }
    let other = try? netrc.credentials(host: host, user: found.user + "x")
    expect(other?.user != found.user, "another's")
  },
  Target(name: "cookies") { input in
    let parts = input.parts
    guard let file = try? CookieFile(parts[0]) else { return }
    let path = parts.count > 1 ? parts[1] : "x"
    guard let plain = try? ResourceURL("http://a.h.example/\(path)"),
      let secure = try? ResourceURL("https://a.h.example/\(path)")
    else { return }
    func pairs(_ url: ResourceURL, at wallSeconds: Double) -> [String] {
      // One with a NUL, in place of a byte that is not UTF-8, is not sent.
      file.jar.cookies(for: url, at: wallSeconds).map(\.pair).filter { !$0.utf8.contains(0) }
    }
    let sent = pairs(plain, at: 1_700_000_000)
    for pair in sent {
      // By bytes: a value may begin with a mark that makes one character with the sign before it.
      expect(pair.utf8.contains(0x3D), "no name")
      expect(pair.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x3B }, "it splits a field")
    }
    expect(Set(sent).isSubset(of: pairs(secure, at: 1_700_000_000)), "for http only")
    expect(Set(pairs(plain, at: 2e9)).isSubset(of: sent), "an expired one is back")
  },
  Target(name: "input-list") { input in
    guard let list = try? InputList(input.text) else { return }
    var last = 0
    for entry in list.entries {
      expect(entry.line > last, "lines out of order")
      last = entry.line
      expect(!entry.address.isEmpty && !entry.address.utf8.contains(0x0A), "an odd address")
      for value in [entry.out, entry.dir] { expect(value != "", "an empty value") }
    }
  },
  Target(name: "list-rows") { input in
    let text = Array(input.text.utf8)
    guard !text.starts(with: [0xEF, 0xBB, 0xBF]) else { return }
    for format in InputTable.Format.allCases {
      let whole = try? InputTable(input.text, as: format, columns: [:])
      var (scanner, rows) = (RowScanner(format), [RowScanner.Row]())
      for line in text.split(separator: 0x0A, omittingEmptySubsequences: false) {
        if let row = scanner.take(line) { rows.append(row) }
      }
      if let row = scanner.end() { rows.append(row) }
      for row in rows {
        expect(text[Int(row.offset)...].starts(with: row.bytes), "it is at another place")
      }
      let header = [.csv, .tsv].contains(format) ? rows.first : nil
      let above = header.map { String(decoding: $0.bytes, as: UTF8.self) + "\n" } ?? ""
      let alone = rows.dropFirst(header == nil ? 0 : 1).map { row in
        let text = above + String(decoding: row.bytes, as: UTF8.self)
        return (try? InputTable(text, as: format, columns: [:]))?.entries
      }
      // A carriage return alone ends a row of a table, and is refused in a split.
      guard let whole, alone.allSatisfy({ $0?.count ?? 2 < 2 }) else { continue }
      let addresses = alone.flatMap { $0 ?? [] }.map(\.address)
      expect(addresses == whole.entries.map(\.address), "other rows")
    }
  },
  Target(name: "configuration") { input in
    let text = input.text
    let sources = CommandSources(
      environment: ["HOME": "/home"],
      read: { (_, purpose) throws(UsageError) in purpose == .configuration ? text : nil })
    do throws(UsageError) {
      let invocation = try Invocation.plan(["get", "https://h.example/f"], from: sources)
      guard let plan = invocation as? GetPlan else {
        return expect(false, "a configuration that turns get into something else")
      }
      expect(plan.requests.contains { $0.url.origin.host == "h.example" }, "the address is gone")
    } catch {
      expect(!error.message.isEmpty, "a refusal without words")
    }
  },
  Target(name: "command-line") { input in
    let sources = CommandSources(environment: ["HOME": "/home"])
    do throws(UsageError) {
      guard let plan = try Invocation.plan(["get"] + input.parts, from: sources) as? GetPlan else {
        return
      }
      expect(!plan.requests.isEmpty, "a plan without a request")
      for request in plan.requests {
        for field in request.headers {
          expect(!(field.name + field.value).utf8.contains { $0 == 0x0A || $0 == 0x0D }, "split")
        }
      }
    } catch {
      expect(!error.message.isEmpty, "a refusal without words")
    }
  },
]
