import HaulControl
import HaulCore

extension NoticeSettings {
  /// - Throws: for a wrong value. No message repeats the webhook's address, which may be a secret.
  init(_ options: NoticeOptions, _ sources: CommandSources) throws(UsageError) {
    self.init()
    level = options.level ?? .all
    hasSound = options.sound ?? true
    command = try Self.command(options.notifyCommand)
    guard let text = options.webhook else {
      guard options.webhookSecretFile == nil else {
        throw UsageError("--webhook-secret-file needs --webhook")
      }
      return
    }
    let url = try UsageError.checked(ResourceURL(text), at: "--webhook")
    let mayBePrivate = options.webhookPrivate ?? false
    guard mayBePrivate || !url.origin.isPrivateLiteral else {
      throw UsageError(
        "--webhook: \(url.origin.host) has a private address; to allow that, give "
          + "--webhook-private, or write webhook-private = true")
    }
    webhook = Webhook(
      url: url,
      secret: try options.webhookSecretFile.map { (path) throws(UsageError) in
        try Self.secret(path, sources)
      },
      mayBePrivate: mayBePrivate)
  }

  private static func command(_ arguments: [String]) throws(UsageError) -> [String] {
    guard let program = arguments.first else { return [] }
    guard !program.contains(where: \.isWhitespace) else {
      throw UsageError(
        "notify-command: write the program and each argument on a line of its own, each after "
          + "'notify-command ='")
    }
    return arguments
  }

  private static func secret(
    _ path: String, _ sources: CommandSources
  ) throws(UsageError) -> NoticeSecret {
    let name = "--webhook-secret-file \(path)"
    guard path.isAbsolutePath else {
      throw UsageError("\(name): give the absolute path of the file")
    }
    let line = try sources.text(of: path, for: .webhookSecret, named: name)
      .prefix(beforeAnyOf: "\r\n")
    guard !line.isEmpty else { throw UsageError("\(name): the first line is empty") }
    return NoticeSecret(Array(line.utf8))
  }
}
