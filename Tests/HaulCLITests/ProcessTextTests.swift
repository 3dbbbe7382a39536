import HaulCLI
import Testing

/// Arguments and variables are UTF-8 text.
@Suite struct ProcessTextTests {
  private func refusal(_ arguments: [[UInt8]]) -> String? {
    do {
      _ = try ProcessText.arguments(arguments)
      return nil
    } catch {
      return error.message
    }
  }

  private func bytes(_ text: String, _ byte: UInt8, _ rest: String = "") -> [UInt8] {
    Array(text.utf8) + [byte] + Array(rest.utf8)
  }

  @Test func `text stays as it is, also a replacement character that was given`() throws {
    let texts = ["get", "", "na\u{EF}ve", "na\u{FFFD}ve"]
    #expect(try ProcessText.arguments(texts.map { Array($0.utf8) }) == texts)
  }

  @Test func `other bytes are refused, and shown in hexadecimal`() throws {
    let message = try #require(refusal([Array("-d".utf8), bytes("/old/na", 0xEF, "ve")]))
    #expect(message.contains("argument 2, '/old/na\\xEFve', is not UTF-8"))
    #expect(message.contains("rename"))
    #expect(refusal([bytes("--directory=/old/na", 0xEF)])?.contains("/old/na\\xEF") == true)
  }

  @Test(arguments: ["http://u:secret@h/", "X: secret", "--cookie=sid=secret", "--header=X: secret"])
  func `what may be a secret is not shown`(text: String) throws {
    let message = try #require(refusal([bytes(text, 0xEF)]))
    #expect(!message.contains("secret") && message.contains("***"))
  }

  @Test func `a variable with a path is refused too, and its value is not shown`() throws {
    let values = ["HOME": Array("/home/x".utf8), "HAUL_PASSWORD": bytes("secret", 0xEF)]
    do {
      try ProcessText.checkVariables { values[$0] }
      Issue.record("the password was accepted")
    } catch {
      #expect(error.message.contains("HAUL_PASSWORD") && !error.message.contains("secret"))
    }
    try ProcessText.checkVariables { $0 == "HOME" ? Array("/home/na\u{EF}ve".utf8) : nil }
  }
}
