import HaulCLI
import HaulCore

/// What `command-line` and `configuration` reach through the argument parser, without it: that
/// takes milliseconds for each command line.
let optionTargets = [
  Target(name: "option-values") { input in
    let text = input.text
    if let count = try? ArgumentValue.bytes(text) {
      expect(count > 0, "\(count) bytes")
      expect((try? ArgumentValue.bytes(String(count))) == count, "it does not read what it says")
    }
    if let duration = try? ArgumentValue.duration(text) {
      expect(duration > .zero && duration <= .seconds(10 * 365 * 86_400), "\(duration)")
    }
    if let count = try? ArgumentValue.count(text, in: 1...64) {
      expect((1...64).contains(count), "a count of \(count)")
    }
    if let field = try? HeaderArgument.field(text, from: "-H") {
      expect(!field.name.isEmpty && !field.name.utf8.contains { $0 <= 0x20 }, "an odd name")
      expect(!field.value.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "it splits")
    }
    if let agent = try? NetworkArgument.userAgent(text) {
      expect(!agent.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a control in the user agent")
    }
  },
  Target(name: "network-options") { input in
    let text = input.text
    if let address = try? NetworkArgument.address(text) {
      expect(IPAddress(address) != nil, "no address")
    }
    if let resolution = try? NetworkArgument.resolution(text) {
      expect(IPAddress(resolution.address) != nil, "no address")
      expect((try? NetworkArgument.host(resolution.host)) == resolution.host, "another host")
    }
    if let list = try? NetworkArgument.exceptions(text) {
      expect(ProxyExceptions.unreadable(in: list) == nil, "it does not read what it says")
    }
    do throws(UsageError) {
      _ = try NetworkArgument.proxy("http://u:secretword@" + text)
    } catch {
      expect(!error.message.contains("secretword") || text.contains("secretword"), "a secret")
    }
  },
  Target(name: "address-argument") { input in
    let text = input.text
    guard !text.contains("secretword") else { return }
    for address in ["https://u:secretword@" + text, "u:secretword@" + text, text] {
      do throws(UsageError) {
        let url = try AddressArgument.url(address)
        expect(["http", "https"].contains(url.origin.scheme), "scheme \(url.origin.scheme)")
      } catch {
        expect(!error.message.contains("secretword"), "a password is shown")
      }
      expect(!AddressArgument.redacted(address).contains("secretword"), "a password is shown")
    }
    let shown = AddressArgument.redacted("https://h.example/?\(text)secretword")
    expect(!shown.contains("secretword"), "a query is shown")
  },
  Target(name: "completion-name") { input in
    if NameCompletion.isSafe(input.text) { expectHarmless(Array(input.text.utf8)) }
  },
  // What `haul list --names` prints for the ids, names and groups of a list, as a shell reads it.
  Target(name: "completion-lines") { input in
    let names = input.parts
    let printed = Array(NameCompletion.lines(names).utf8)
    expect(printed.isEmpty || printed.last == 0x0A, "the last line has no end")
    let lines =
      printed.isEmpty
      ? [] : printed.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false)
    let given = names.map { Array($0.utf8) }
    for line in lines {
      expect(given.contains(Array(line)), "a line that is no name of the list")
      expectHarmless(Array(line))
    }
  },
  Target(name: "placement-rule") { input in
    guard let rule = PlacementRule(input.text) else { return }
    expect(!FilePath(rule.directory).leadsUp && !rule.directory.isEmpty, "a rule leads up")
    guard let url = try? ResourceURL("https://example.org/a%20b.tar.gz") else { return }
    _ = rule.matches(url)
  },
  Target(name: "settings") { input in
    guard let file = try? SettingsFile(input.text, path: "haul.conf", home: "/home") else { return }
    var last = 0
    for entry in file.entries {
      expect(entry.line > last, "lines out of order")
      last = entry.line
      expect(!entry.key.isEmpty && !entry.key.hasBytePrefix("-"), "no name")
      expect(entry.key.utf8.allSatisfy { $0 < 0x80 && $0 > 0x20 && $0 != 0x3D }, "an odd name")
      guard let value = entry.value else { continue }
      expect(
        !value.isEmpty && !value.utf8.contains { [0, 0x0A, 0x0D].contains($0) }, "an odd value")
      // As the parser looks for the sign.
      let word = "--\(entry.key)=\(value)"
      expect(word.firstByteIndex(of: "=") != nil, "a value that the parser does not find")
    }
  },
]

/// What no shell may read as something else than the name that it is, and no terminal may obey.
private func expectHarmless(_ name: [UInt8]) {
  let text = String(decoding: name, as: UTF8.self)
  // What bash, zsh or fish reads as something else than itself, also at the start or the end.
  let special = Set("$`\"'\\!*?[]{}()<>|&;~#^".utf8)
  expect(!name.isEmpty && !name.contains(where: special.contains), "a shell reads \(text)")
  expect(!name.contains { $0 < 0x20 || $0 == 0x7F }, "a control")
  for scalar in text.unicodeScalars {
    expect(!(0x80...0x9F).contains(scalar.value), "a control")
    expect(!isBidi(scalar), "a control of direction")
    expect(scalar == " " || !scalar.properties.isWhitespace, "a space that is not quoted")
  }
  expect(name.first != UInt8(ascii: "-") && name.first != UInt8(ascii: "="), "an option or a path")
  expect(name.first != 0x20 && name.last != 0x20, "a space at an end")
}
