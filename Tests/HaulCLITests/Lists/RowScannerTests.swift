import HaulCLI
import HaulCore
import Testing

@Suite struct RowScannerTests {
  private static func rows(_ text: String, _ format: InputTable.Format) -> [RowScanner.Row] {
    var (scanner, rows) = (RowScanner(format), [RowScanner.Row]())
    for line in Array(text.utf8).split(separator: 0x0A, omittingEmptySubsequences: false) {
      if let row = scanner.take(line) { rows.append(row) }
    }
    if let row = scanner.end() { rows.append(row) }
    return rows
  }

  private static let texts: [(InputTable.Format, String, [String], [Int])] = [
    (.jsonl, "\n{\"url\":1}\r\n \n{}", ["{\"url\":1}\r", "{}"], [2, 4]),
    (.tsv, "url\ta\n\n\"x\ty\n", ["url\ta", "\"x\ty"], [1, 3]),
    (
      .csv, "url,note\r\n\"a\",\"two\nlines, \"\"quoted\"\"\"\r\nb,5\" wide\n\nc,\n",
      ["url,note\r", "\"a\",\"two\nlines, \"\"quoted\"\"\"\r", "b,5\" wide", "c,"], [1, 2, 4, 6]
    ),
    (.csv, "url\n\"open\nx", ["url", "\"open\nx"], [1, 2]),
    (
      .list, "# a\nhttps://h/1\n  out=b\n# c\n\nhttps://h/2\r\n\nhttps://h/3",
      ["# a\nhttps://h/1\n  out=b\n# c\n", "https://h/2\r\n", "https://h/3"], [1, 6, 8]
    ),
    (.list, "", [], []),
  ]

  @Test(arguments: texts)
  func `Rows are found where they begin and end`(
    format: InputTable.Format, text: String, rows: [String], lines: [Int]
  ) {
    let found = Self.rows(text, format)
    #expect(found.map { String(decoding: $0.bytes, as: UTF8.self) } == rows)
    #expect(found.map(\.line) == lines)
    for row in found {
      #expect(Array(text.utf8)[Int(row.offset)...].starts(with: row.bytes))
    }
  }

  @Test func `A byte order mark belongs to no row`() {
    let found = Self.rows("\u{FEFF}\"url\"\nx\n", .csv)
    #expect(found.map { String(decoding: $0.bytes, as: UTF8.self) } == ["\"url\"", "x"])
    #expect(found.map(\.offset) == [3, 9])
  }

  @Test(
    arguments: [
      (.list, "https://h/1\n  out=a", "https://h/1\n  out=a\n  max-per-host=2"),
      (.csv, "x,\"a\"\r", "x,\"a\",2\r"), (.tsv, "x\ta", "x\ta\t2"),
      (.jsonl, "{\"url\":\"a}\"} \r", "{\"url\":\"a}\",\"max-per-host\":2}"),
    ] as [(InputTable.Format, String, String)])
  func `The limit of a host is written as get reads it`(
    format: InputTable.Format, row: String, limited: String
  ) {
    #expect(format.row(Array(row.utf8), limitedTo: 2) == Array(limited.utf8))
    #expect(InputTable.Format.csv.header(Array("url\r".utf8)) == Array("url,max-per-host\r".utf8))
  }

  @Test func `The limits of a list are those of its hosts`() throws {
    let list = """
      https://a/1
        max-per-host=3
      https://a/2
        max-per-host=2
      https://b:8080/1
        max-per-host=40
      https://c/1
      """
    let files = sources(["l": list])
    let options = try plan(["-i", "l"], files).managerOptions
    #expect(options.maximumActiveOfHosts == ["a": 2, "b:8080": 40])
    #expect((options.maximumActivePerHost, options.connectionsPerHost) == (4, 40))
    let lower = try plan(["-i", "l", "--max-per-host", "8"], files).managerOptions
    #expect(lower.maximumActiveOfHosts == ["a": 2, "b:8080": 8])
    let table = sources(["l.csv": "url,max-per-host\nhttps://a/1,1\n"])
    #expect(try plan(["-i", "l.csv"], table).managerOptions.maximumActiveOfHosts == ["a": 1])
    for (wrong, message) in [("0", ": "), ("x", ": "), ("", " has no value")] {
      let files = sources(["l": "https://a/1\n max-per-host=\(wrong)\n"])
      #expect(refusal(["-i", "l"], files)?.hasPrefix("l: line 2: max-per-host\(message)") == true)
    }
    #expect(refusal(["add", "-i", "l"], of: files)?.hasPrefix("l: line 1: max-per-host") == true)
  }

  @Test func `To another server the least limit is that of all files`() throws {
    let files = sources(
      ["l.csv": "url,max-per-host\nhttps://a/1,3\nhttps://b/2,2\n"],
      environment: ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"])
    let arguments = ["get", "-i", "l.csv", "-o", "s3://bucket/x/"]
    let plan = try Invocation.plan(arguments, from: files) as? PutPlan
    #expect(plan?.managerOptions.maximumActive == 2)
  }

  @Test func `A list without an address is complete for a worker, and wrong usage else`() throws {
    for (name, text) in [("l", "# none\n"), ("l.csv", "url,max-per-host\n"), ("l.jsonl", "")] {
      let files = sources([name: text])
      #expect(try Invocation.plan(["get", "--worker", "-i", name], from: files) is PrintedText)
      #expect(refusal(["-i", name], files) == "\(name): it contains no URL")
    }
  }

  @Test(arguments: [
    [], ["l"], ["l", "--shards", "2"], ["l", "--shards", "0", "-o", "d"],
    ["-", "--shards", "2", "-o", "d"], ["l", "l.csv", "--shards", "2", "-o", "d"],
    ["l", "--by", "bytes", "--shards", "2", "-o", "d"],
    ["l", "--by", "size", "--shards", "2", "-o", "d"], ["--shards", "2", "-o", "d"],
  ])
  func `A split without what it needs is wrong usage`(arguments: [String]) {
    #expect(refusal(["split"] + arguments) != nil)
  }
}
