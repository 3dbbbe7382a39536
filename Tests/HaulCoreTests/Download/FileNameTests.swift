import HaulCore
import Testing

@Suite struct FileNameTests {
  @Test(arguments: [
    ("https://h/a/b.iso", "b.iso"), ("https://h/a/b.iso?x=/y.z#f", "b.iso"),
    ("https://h/", "download"), ("https://h", "download"), ("https://h/dir/", "download"),
    ("https://h/a%20b.txt", "a b.txt"), ("https://h/a%2520b", "a%20b"),
    ("https://h/..%2F..%2Fetc%2Fpasswd", "passwd"), ("https://h/a%5C..%5Cb.txt", "b.txt"),
    ("https://h/%2e%2e", "download"), ("https://h/.bashrc", ".bashrc"),
    ("https://h/%C3%A9.txt", "é.txt"), ("https://h/%E9%FF.txt", "%E9%FF.txt"),
    ("https://h/%C3%A9%E9", "é%E9"), ("https://h/a%00b", "ab"),
    ("https://h/CON.txt", "_CON.txt"),
  ])
  func `The address gives the last component, decoded once`(address: String, name: String) throws {
    #expect(try FileName(ResourceURL(address)).text == name)
  }

  @Test(
    arguments: [
      ("../../etc/passwd", "passwd"), ("C:\\x\\y.txt", "y.txt"), ("C:y.txt", "C_y.txt"),
      (".", nil), ("..", nil), ("...", nil), ("", nil), (" ", nil), ("a/", nil), ("/", nil),
      ("\u{0}\u{202E}", nil), ("\u{FF0E}", "\u{FF0E}"), ("~", "_~"), ("~root", "_~root"),
      (".ssh", "_.ssh"), ("-rf", "_-rf"), ("a.txt. .", "a.txt"), (" a ", "a"),
      ("\u{A0}a\u{3000}", "a"), ("ab\u{202E}gpj.exe", "abgpj.exe"),
      ("a\u{200B}b\u{9B}c\r\n", "abc"),
      ("a\u{2028}b", "ab"), ("a<b>c|d?e*f\"g:h", "a_b_c_d_e_f_g_h"), ("con", "_con"),
      ("NUL.tar.gz", "_NUL.tar.gz"), ("com1", "_com1"), ("COM¹.x", "_COM¹.x"),
      ("LPT9 .x", "_LPT9 .x"),
      ("console", "console"), ("com", "com"), ("com10", "com10"), ("Desktop.INI", "_Desktop.INI"),
      ("x.haul.part", "x.haul.part.download"), ("X.Haul.Journal", "X.Haul.Journal.download"),
      ("x.part", "x.part"), ("evil.LNK", "evil.LNK.download"), ("x.lnk. ", "x.lnk.download"),
      ("a.b", "a.b"),
      (".\u{301}x", "_.\u{301}x"), ("a%2Fb", "a%2Fb"),
    ] as [(String, String?)])
  func `A server's name is made safe`(name: String, safe: String?) {
    #expect(FileName(contentDisposition: name)?.text == safe)
  }

  @Test(arguments: [
    "lnk", "scf", "url", "pif", "website", "desktop", "kdelnk", "library-ms",
    "searchConnector-ms", "search-ms", "settingcontent-ms", "appref-ms", "theme", "themepack",
    "deskthemepack", "webloc", "inetloc", "fileloc", "shb", "shs", "desklink", "mapimail",
    "mydocs", "zfsendtotarget", "{21EC2020-3AEA-1069-A2DD-08002B30309D}", "{x}",
  ])
  func `A name that a desktop reads in a listed directory is made inert`(pathExtension: String) {
    for form in [pathExtension, pathExtension.lowercased(), pathExtension.uppercased()] {
      for name in ["a", "a.txt", "CONSOLE", "a-name-that-is-long", "é"] {
        let active = "\(name).\(form)"
        for end in ["", ".", " ", ". .", "\u{A0}", "\u{200D}", "\u{FEFF}"] {
          #expect(FileName(contentDisposition: active + end)?.text == active + ".download")
        }
        #expect(FileName(user: active)?.text == active + ".download")
      }
    }
  }

  @Test(
    arguments: [
      ("a.l\u{200D}nk", "a.lnk.download"), ("a.\u{FEFF}lnk", "a.lnk.download"),
      ("a.ln\u{212A}", "a.ln\u{212A}.download"), ("a.\u{17F}cf", "a.\u{17F}cf.download"),
      ("a.l\u{FE0F}nk", "a.l\u{FE0F}nk.download"), ("a.lnk\u{34F}", "a.lnk\u{34F}.download"),
      ("a.\u{FF2C}\u{FF4E}\u{FF4B}", "a.\u{FF2C}\u{FF4E}\u{FF4B}.download"),
      ("a\u{FF0E}lnk", "a\u{FF0E}lnk.download"), ("a\u{D4E}.lnk", "a\u{D4E}.lnk.download"),
      ("a\u{600}.lnk", "a.lnk.download"), ("C\u{200D}ON", "_CON"),
      ("C\u{FE0F}ON", "_C\u{FE0F}ON"), ("con.\u{301}x", "_con.\u{301}x"),
      ("\u{FF23}ON.txt", "_\u{FF23}ON.txt"), ("AUX .tar.gz", "_AUX .tar.gz"),
      ("CONIN$", "_CONIN$"), ("conout$.x", "_conout$.x"), ("com\u{B2}", "_com\u{B2}"),
      ("NUL.averyveryverylongextension", "_NUL.averyveryverylongextension"),
      ("a.txt:b.lnk", "a.txt_b.lnk.download"), ("desktop.ini::$DATA", "desktop.ini__$DATA"),
      ("a:b", "a_b"), ("\u{FE0F}.ssh", "_\u{FE0F}.ssh"),
      ("x.haul.\u{FE0F}part", "x.haul.\u{FE0F}part.download"),
      ("\u{FE0F}", nil), ("..\u{FE0F}", nil), ("\u{3164}", nil),
    ] as [(String, String?)])
  func `A name that some system takes for an active one is made inert`(name: String, safe: String?)
  {
    let text = FileName(contentDisposition: name)?.text
    #expect(text.map { Array($0.utf8) } == safe.map { Array($0.utf8) }, "\(text ?? "none")")
  }

  @Test(arguments: [
    "desktop.ini", "Thumbs.db", "AUTORUN.INF", "autorun", "autorun.sh", "autoopen", ".directory",
    ".autorun", ".autoopen", ".DS_Store",
  ])
  func `A file that a system reads by its name gets another`(name: String) throws {
    #expect(FileName(contentDisposition: name)?.text == "_" + name)
    #expect(FileName(user: name)?.text == "_" + name)
    #expect(FileName(user: name + "\u{FEFF}.")?.text == "_" + name)
    #expect(try FileName(ResourceURL("https://h/\(name)")).text == "_" + name)
    #expect(FileName(user: "my-" + name)?.text == "my-" + name)
  }

  @Test(arguments: [
    "lnk", "desktop", "theme", "a.lnk.txt", "a.urls", "a.{x", "a.x}", "a.ini", "a.inf", "a.db",
    "autorun.txt", "console.log", "a.lnk\u{301}", "❤\u{FE0F}.png", "a.part", "icon.themes",
  ])
  func `Names beside those stay as they are`(name: String) {
    #expect(FileName(contentDisposition: name)?.text == name)
  }

  @Test func `A user's name keeps its leading dot, and is otherwise made safe`() {
    #expect(FileName(user: ".config")?.text == ".config")
    #expect(FileName(user: "../.config")?.text == ".config")
    #expect(FileName(user: "..")?.text == nil)
    #expect(FileName(user: "-x")?.text == "_-x")
  }

  @Test func `A name reports whether it was changed`() throws {
    #expect(try !FileName(ResourceURL("https://h/a%20b.txt")).wasChanged)
    #expect(FileName(contentDisposition: "a.txt")?.wasChanged == false)
    #expect(FileName(contentDisposition: "x.lnk")?.wasChanged == true)
    #expect(FileName(contentDisposition: "a\u{202E}b")?.wasChanged == true)
  }

  @Test func `A long name is cut between graphemes and keeps its extension`() throws {
    let long = try #require(FileName(user: String(repeating: "é", count: 300) + ".tar.gz")?.text)
    #expect(long.hasSuffix("é.tar.gz"))
    let volume = FileName(user: String(repeating: "v", count: 300) + ".part12.rar")?.text
    #expect(volume?.hasSuffix("v.part12.rar") == true)
    #expect((FileName.byteLimit - 1...FileName.byteLimit).contains(long.utf8.count))
    let emoji = try #require(FileName(user: String(repeating: "👍🏽", count: 99) + ".png")?.text)
    #expect(emoji.dropLast(4).allSatisfy { $0 == "👍🏽" })
    let zalgo = "e" + String(repeating: "\u{301}", count: 400)
    #expect(try #require(FileName(user: zalgo)).text.utf8.count <= FileName.byteLimit)
    let noExtension = "a." + String(repeating: "b", count: 300)
    #expect(FileName(user: noExtension)?.text.utf8.count == FileName.byteLimit)
  }

  @Test func `A long name that is cut never ends in an executable extension`() throws {
    let hidden = String(repeating: "x", count: FileName.byteLimit - 4) + ".lnk"
    let name = try #require(FileName(user: hidden + String(repeating: "z", count: 17)))
    #expect(name.text.hasSuffix(".download"))
    #expect(name.text.utf8.count <= FileName.byteLimit)
  }

  @Test(arguments: [
    ("a.txt", 1, "a (1).txt"), ("a.tar.gz", 12, "a (12).tar.gz"), ("a", 2, "a (2)"),
    (".bashrc", 1, ".bashrc (1)"), ("a.b.c", 1, "a.b (1).c"), (".tar.gz", 1, ".tar (1).gz"),
    ("v1. two words", 3, "v1. two words (3)"), ("a.TAR.zst", 1, "a (1).TAR.zst"),
    ("a.part2.rar", 1, "a (1).part2.rar"), ("a.7z.001", 1, "a (1).7z.001"),
    ("a.b.001", 1, "a.b (1).001"), ("a.party.rar", 1, "a.party (1).rar"),
    ("a.part1234567.rar", 1, "a.part1234567 (1).rar"), ("a.part.rar", 1, "a.part (1).rar"),
    (".part1.rar", 1, ".part1 (1).rar"),
  ])
  func `A number is inserted before the extension`(name: String, number: Int, result: String) throws
  {
    #expect(try #require(FileName(user: name)).numbered(number).text == result)
  }

  @Test func `A numbered name leaves room for the journal's suffix, even with the largest number`()
    throws
  {
    let name = try #require(FileName(user: String(repeating: "x", count: 300) + ".iso"))
    for number in [1, 999, 1_000_000, Int.max] {
      let text = name.numbered(number).text
      #expect((text + ".haul.journal").utf8.count <= 255)
      #expect(text.hasSuffix(" (\(number)).iso"))
    }
  }

  @Test func `Any input becomes a safe name, and a safe name stays unchanged`() throws {
    let alphabet: [String] = [
      "a", "Z", ".", " ", "/", "\\", "~", "-", "_", ":", "\u{0}", "\u{1B}", "\u{202E}", "é",
      "e\u{301}", "漢", "👩‍👧", "con", "nul", ".lnk", "desktop.ini", "\u{301}", "\u{600}",
      "\u{D4E}", "\u{FE0F}", "\u{FF0E}", "autorun.inf", ".{x}", ".library-ms", ".tar", ".gz", "%2e",
      "%FF",
      String(repeating: "long", count: 70),
    ]
    for seed in UInt64(0)..<4000 {
      var generator = SplitMix64(seed: seed)
      let length = Int.random(in: 0...8, using: &generator)
      let text = (0..<length).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
        .joined()
      for keepsDot in [false, true] {
        let make = { keepsDot ? FileName(user: $0) : FileName(contentDisposition: $0) }
        guard let name = make(text)?.text else { continue }
        #expect(isSafe(name, allowingDot: keepsDot), "seed \(seed): \(name)")
        let again = make(name)?.text ?? ""
        #expect(again.utf8.elementsEqual(name.utf8), "seed \(seed): \(name), then \(again)")
      }
    }
  }

  @Test(
    arguments: [
      ("a/b c/d.bin", "a/b c/d.bin"), (".ssh/-x", "_.ssh/_-x"), ("a/y.lnk", "a/y.lnk.download"),
      ("a:b/c", "a_b/c"), ("a\\..\\b/c", "b/c"), ("..", nil), ("a/../b", nil), ("../x", nil),
      ("/etc/x", nil), ("a//b", nil), ("./a", nil), ("a/", nil), ("", nil), ("a/ ./b", nil),
    ] as [(String, String?)])
  func `A path that a server chooses stays below its directory`(path: String, safe: String?) {
    #expect(FileName.path(chosenByServer: path) == safe)
  }

  private func isSafe(_ name: String, allowingDot: Bool) -> Bool {
    let scalars = name.unicodeScalars
    guard let first = scalars.first, let last = scalars.last else { return false }
    let isClean = scalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F && !"/\\:*?\"<>|\u{202E}".unicodeScalars.contains($0)
    }
    return isClean && !"~- ".unicodeScalars.contains(first) && (allowingDot || first != ".")
      && last != "." && last != " " && name.utf8.count <= FileName.byteLimit
      && isInert(name)
  }

  /// Without what case-insensitive file systems ignore.
  private func isInert(_ name: String) -> Bool {
    let ignored: Set<Unicode.Scalar> = ["\u{FE0F}", "\u{200D}"]
    var scalars = String.UnicodeScalarView()
    for scalar in name.lowercased().unicodeScalars where !ignored.contains(scalar) {
      scalars.append(scalar == "\u{FF0E}" ? "." : scalar)
    }
    let bytes = Array(String(scalars).utf8)
    let stem = bytes.prefix { $0 != UInt8(ascii: ".") }
    return ![".lnk", ".{x}", ".library-ms"].contains {
      bytes.suffix($0.utf8.count) == Array($0.utf8)[...]
    }
      && !["con", "nul"].contains { stem.elementsEqual($0.utf8) }
      && !["desktop.ini", "autorun.inf"].contains { bytes == Array($0.utf8) }
  }
}
