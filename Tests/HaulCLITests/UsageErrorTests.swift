import HaulCLI
import Testing

private let zeros32 = String(repeating: "0", count: 32)

/// Wrong usage is refused before anything starts.
@Suite struct UsageErrorTests {
  private static let cases: [([String], String)] = [
    ([], "haul get URL"),
    (["get"], "at least one URL"),
    (["get", "-o", "a", "https://h/1", "https://h/2"], "several URLs"),
    (
      [
        "get", "--checksum", "md5=\(zeros32)", "https://h/1",
        "https://h/2",
      ], "several URLs"
    ),
    (["get", "--checksum", "md5=00", "https://h/1"], "32 hexadecimal digits"),
    (
      ["get", "--checksum", "sha-256=\(zeros32)\(zeros32)g", "https://h/1"],
      "64 hexadecimal"
    ),
    (
      ["get", "--checksum", "sha256=\(zeros32)", "https://h/1"],
      "sha-256 needs 64"
    ),
    (
      ["get", "--checksum", "md5=\(zeros32)", "--checksum", "MD5=\(zeros32)", "https://h/1"],
      "md5 is given twice"
    ),
    (
      ["verify", "f", "--checksum", "md5=\(zeros32)", "--checksum", "md5=\(zeros32)"],
      "md5 is given twice"
    ),
    (["verify", "f"], "--checksum"),
    (["get", "--checksum", "abc", "https://h/1"], "ALG=HEX"),
    (["get", "-o", "", "https://h/1"], "empty"),
    (["get", "-o", "d/", "https://h/1"], "directory"),
    (["get", "-o", "..", "https://h/1"], "directory"),
    (["get", "-d", "", "https://h/1"], "empty"),
    (["get", "-d", "x", "-o", "/y", "https://h/1"], "contradict"),
    (["get", "-o", "-", "--json", "https://h/1"], "standard output"),
    (["get", "-o", "-", "-d", "x", "https://h/1"], "contradict"),
    (["get", "-o", "-", "https://h/1", "https://h/2"], "several URLs"),
    (["get", "-q", "-v", "https://h/1"], "contradict"),
    (["get", "-q", "--progress", "bar", "https://h/1"], "contradict"),
    (["get", "--progress", "dots", "https://h/1"], "--progress"),
    (["get", "--if-exists", "replace", "https://h/1"], "overwrite"),
    (["get", "--durability", "none", "https://h/1"], "relaxed"),
    (["get", "-H", "no colon", "https://h/1"], "Name: value"),
    (["get", "-H", ": v", "https://h/1"], "name"),
    (["get", "-H", "A b: v", "https://h/1"], "name"),
    (["get", "-H", "A: v\r\nB: w", "https://h/1"], "line break"),
    (["get", "-H", "A: v\nB: w", "https://h/1"], "line break"),
    (["get", "-H", "A\r\nB: w", "https://h/1"], "name"),
    (["get", "-H", "Range: bytes=0-1", "https://h/1"], "set by haul"),
    (["get", "-H", "@missing", "https://h/1"], "no file"),
    (["get", "-j", "0", "https://h/1"], "from 1"),
    (["get", "-x", "x", "https://h/1"], "from 1"),
    (["get", "-x", "+3", "https://h/1"], "from 1"),
    (["get", "--retries=-1", "https://h/1"], "from 0"),
    (["get", "--min-split", "0", "https://h/1"], "more than 0"),
    (["set", "ID", "--rate", "2M"], "write --limit-rate RATE"),
    (["limits", "--rate=2M"], "write --limit-rate RATE"),
    (["get", "--rate", "2M", "https://h/1"], "write --limit-rate RATE"),
    (["add", "--manifest", "m", "https://h/1"], "the list itself keeps what is done"),
    (["add", "--worker", "https://h/1"], "haul get"),
    (["add", "-O", "a", "https://h/1"], "-o FILE"),
    (["add", "-c", "https://h/1"], "haul resumes by itself"),
    (["get", "--limit-rate", "K", "https://h/1"], "500K"),
    (["get", "--min-split", "1.5", "https://h/1"], "500K"),
    (["get", "--min-split", "1.5.5M", "https://h/1"], "500K"),
    (["get", "--min-split", "5MB", "https://h/1"], "1MiB"),
    (["get", "--min-split", "9999999999G", "https://h/1"], "too large"),
    (["get", "--max-filesize", "1P", "https://h/1"], "500K"),
    (["get", "--idle-timeout", "0", "https://h/1"], "longer than 0"),
    (["get", "--idle-timeout", "1w", "https://h/1"], "90s"),
    (["get", "--connect-timeout", "inf", "https://h/1"], "90s"),
    (["get", "--retry-max-time", "1e9", "https://h/1"], "90s"),
    (["get", "--retry-max-time", "999999h", "https://h/1"], "too long"),
    (["get", "--cacert", "", "https://h/1"], "name of a file"),
    (["get", "--no-such-option", "https://h/1"], "--no-such-option"),
    (["get", "https://h/1", "-o"], "-o"),
    (["frobnicate"], "no command 'frobnicate'"),
    (["gte", "https://h/1"], "no command 'gte'; did you mean 'haul get'?"),
    (["help", "gte"], "did you mean 'haul get'?"),
    (["rm", "ABC"], "did you mean 'haul remove'?"),
    (["ps"], "did you mean 'haul list'?"),
    (["status"], "did you mean 'haul list'?"),
    (["logs"], "did you mean 'haul log'?"),
    (["stop", "ABC"], "did you mean 'haul pause'?"),
    (["lsit"], "did you mean 'haul list'?"),
    (["cp"], "no command 'cp'; to download: haul get URL"),
    (["help", "nope"], "no command 'nope'; to download: haul get URL"),
    (["lst"], "did you mean 'haul list'?"),
    (["resmue"], "did you mean 'haul resume'?"),
    (
      ["add", "-j", "4", "https://h/1"], "add -j: it is for all transfers of the daemon: see 'haul"
    ),
    (["add", "--proxy=http://p", "https://h/1"], "add --proxy: it is for all transfers"),
    (
      ["add", "--max-per-host", "2", "https://h/1"],
      "add --max-per-host: it is for all transfers of the daemon: see 'haul limits --help'"
    ),
    (["add", "--schedule=9-17", "https://h/1"], "add --schedule: it is for all transfers"),
    (["get", "--max-connections-per-host", "2", "https://h/1"], "write --max-per-host N"),
    (["get", "--schedule", "9-17", "https://h/1"], "write haul limits --schedule TIMES"),
    (["retry", "--group", "g", "--state", "failed"], "write --group NAME or --all: only what"),
    (["remove", "--all", "--state=failed"], "remove --state: write --completed, --failed"),
    (["set", "--all", "--state=failed"], "set --state: write ids"),
    (["set", "--rate=1", "A"], "RATE"),
    (["xyz"], "no command 'xyz'; to download: haul get URL"),
    (["help", "frobnicate"], "no command 'frobnicate'"),
    (["https://h/1"], "to download it: haul get https://h/1"),
    (["https://h/x?a=1&b=2"], "haul get 'https://h/x?a=1&b=2'"),
    (["https://u:secret@h/x?token=secret"], "haul get URL"),
    (["get", "-c", "https://h/1"], "-c: haul resumes by itself"),
    (["get", "-C", "-", "https://h/1"], "-C: haul resumes by itself"),
    (["get", "-O", "https://h/1"], "-o FILE gives another"),
    (["get", "-LO", "https://h/1"], "-L: haul follows redirects"),
    (["get", "-qc", "https://h/1"], "-c: haul resumes by itself"),
    (["get", "-k", "https://h/1"], "--insecure"),
    (["get", "-I", "https://h/1"], "haul probe URL"),
    (["get", "-nc", "https://h/1"], "--if-exists skip"),
    (["get", "--no-clobber", "https://h/1"], "--if-exists skip"),
    (["get", "--progress", "dots", "https://h/1"], "'dots': write one of auto, bar, plain, none"),
    (
      ["get", "--checksum", String(repeating: "a", count: 64), "https://h/1"],
      "did you mean sha-256="
    ),
    (["get", "--checksum", "sha-256=ab", "https://h/1"], "needs 64 hexadecimal digits, not 2"),
    (["get", ""], "the address is empty"),
    (["get", "http://127.0.0.1:80:80/x"], "check its host and port"),
    (["get", "http://[::1"], "check its host and port"),
    (["get", "--no-check-certificate", "https://h/1"], "--insecure"),
    (["get", "--continue", "https://h/1"], "resumes by itself"),
    (["get", "-j", "x", "https://h/1"], "-j 'x': write a number from 1 to 1000; see"),
    (
      ["get", "--max-activ", "3", "https://h/1"],
      "unknown option --max-activ; did you mean --max-active?"
    ),
    (["get", "--foo", "https://h/1"], "unknown option --foo; see"),
    (["get", "--json=x", "https://h/1"], "--json takes no value"),
    (
      ["get", "https://h/1", "-o"],
      "-o: a value is missing; one that begins with - is written -o=-…"
    ),
    (["probe"], "URL is missing"),
    (["verify", "f"], "--checksum is missing"),
    (["verify", "f", "g", "--checksum", "md5=\(zeros32)"], "'g' is an unexpected argument"),
    (["probe", "a", "b", "c"], "unexpected arguments: 'b', 'c'"),
    (["verify", "f"], "--checksum"),
    (["verify", "--checksum", "md5=\(zeros32)"], "FILE"),
    (["verify", "f", "--checksum", "md5=x"], "32"),
    (["verify", "", "--checksum", "md5=\(zeros32)"], "empty"),
    (["put", "https://h/x?token=secret", "f"], "the address to upload to comes last"),
    (["put", "f", "tus://u:secret@h/x"], "the scheme tus is not supported; write tus+https://"),
    (["put", "f", "webdavs://h/x"], "write dav+https://"),
    (["put", "f", "webdav://h/x"], "write dav+http://"),
    (["put", "f", "SFTP://u:secret@h/x"], "haul uploads to https:// (PUT), tus+https://"),
    (["unpause", "ABC"], "did you mean 'haul resume'?"),
    (["completion", "bash"], "haul --generate-completion-script SHELL"),
    (["daemon", "log"], "the log is daemon.log in $XDG_STATE_HOME/haul"),
    (["daemon", "lgo"], "action 'lgo': write one of start, stop, restart, reload, status; see"),
    (["cache", "clear"], "write haul cache purge"),
    (["list", "--failed"], "write haul list --state"),
    (["list", "--status=failed"], "write haul list --state"),
    (["verify", "-c", "https://h/SUMS"], "'haul get --checksum-file' asks a server"),
    (["verify", "-c", "SUMS", "--checksum", "md5=\(zeros32)"], "contradict each other"),
    (["verify", "f", "--checksum", "md5=\(zeros32)", "--ignore-missing"], "give -c LIST"),
    (["add", "-o", "/dev/null", "https://h/1"], "-o /dev/null: the daemon only writes files"),
    (["add", "-o", "-", "https://h/1"], "-o -: the daemon only writes files"),
    (["get", "-o", "x.haul.part", "https://h/1"], "names that end with .haul.part"),
    (["get", "-n", "https://h/1"], "-n: write --netrc"),
    (["get", "--proxy-user", "u:secret", "https://h/1"], "in the proxy's address"),
    (["put", "-T", "f", "https://h/1"], "-T: write the files, then the address"),
    (["put", "-F", "a=@f", "https://h/1"], "-F: write --form name=@FILE"),
    (["put", "-X", "POST", "f", "https://h/1"], "-X: write --method put or --method post"),
    (["put", "--delete", "d", "https://h/1/"], "--delete: put deletes nothing on a server"),
    (["put", "-k", "f", "https://h/1"], "-k: write --insecure"),
    (["get", "-T", "9", "https://h/1"], "-T: write --idle-timeout"),
    (
      ["get", "--checksum", "sha256:\(zeros32)\(zeros32)", "https://h/1"],
      "did you mean sha-256=\(zeros32)\(zeros32) ?"
    ),
  ]

  @Test(arguments: cases)
  func `a wrong command line is explained in one line`(arguments: [String], part: String) throws {
    let message = try #require(refusal(arguments))
    #expect(message.contains(part), "\(message)")
    #expect(!message.contains("\n") && !message.contains("secret"))
    // One style: no sentence, no full stop.
    let isSentence =
      message.first?.isUppercase == true && message.dropFirst().first?.isLowercase == true
    #expect(!message.hasSuffix(".") && !isSentence)
  }

  @Test(arguments: [
    ("example.org/x", "https://example.org/x"), ("//example.org/x", "https://example.org/x"),
    ("example.org", "https://example.org/"), ("h:8080/x", "https://h:8080/x"),
    ("localhost/x", "http://localhost/x"), ("a.localhost:80/x", "http://a.localhost:80/x"),
    ("localhost.example/x", "https://localhost.example/x"),
    ("127.0.0.1:80/x", "http://127.0.0.1:80/x"),
    ("[::1]:80/x", "http://[::1]:80/x"), ("https:/h/x", "https://h/x"),
    ("http:h/x", "http://h/x"), ("user:secret@h/x", "https://h/x"),
  ])
  func `an address without a scheme is refused with the one that was probably meant`(
    text: String, meant: String
  ) throws {
    let message = try #require(refusal(["get", text]))
    #expect(message.contains("did you mean \(meant) ?"))
    #expect(!message.contains("secret"))
  }

  @Test(arguments: ["ftp://h/x", "file:///etc/passwd", "mailto:a", "https://", "https://h:0/x", ""])
  func `an address that cannot be downloaded is refused`(text: String) throws {
    let message = try #require(refusal(["get", text]))
    #expect(!message.contains("did you mean"))
  }

  @Test func `a message never repeats secrets of an address or a header`() throws {
    for arguments in [
      ["get", "ftp://user:hunter2@h/x?token=hunter2"],
      ["get", "h/x?token=hunter2#hunter2"],
      ["get", "https://user:hunter2@h:99999/x"],
      ["https://user:hunter2@h/x"],
      ["user:hunter2@h/x"],
      ["gte", "https://user:hunter2@h/x?token=hunter2"],
      ["verify", "f", "https://user:hunter2@h/x", "--checksum", "md5=\(zeros32)"],
      ["get", "-H", "hunter2", "https://h/x"],
      ["get", "-H", "A: hunter2\u{7}", "https://h/x"],
      ["user:hunter2@x://h@y"],
      // A combining mark changes the sign before it into another character.
      ["get", "https://user:hunter2@\u{301}h:99999/x"],
      ["get", "https://h:99999/x?\u{301}token=hunter2"],
      ["gte", "user:hunter2@\u{301}h/x"],
      ["verify", "f", "https://\u{301}user:hunter2@h/x", "--checksum", "md5=\(zeros32)"],
      ["verify", "f", "\u{301}https://user:hunter2@h/x", "--checksum", "md5=\(zeros32)"],
    ] {
      let message = try #require(refusal(arguments))
      #expect(!message.contains("hunter2"))
    }
  }

}
