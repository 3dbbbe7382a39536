import HaulCore

extension PutPlan {
  /// One upload of a form.
  static func form(
    _ command: PutCommand, _ sources: CommandSources
  ) throws(UsageError) -> PutPlan {
    guard !command.form.form.isEmpty else {
      throw UsageError("--field is for a form with a file: --form name=@FILE")
    }
    guard let address = command.arguments.last, command.arguments.count == 1 else {
      throw UsageError("with --form only the address follows: haul put --form name=@FILE URL")
    }
    guard UploadScheme(of: address) == nil, command.method ?? .post == .post else {
      throw UsageError("a form is sent with POST, to an address of http or https")
    }
    guard command.ifExists == nil, command.ifMatch == nil else {
      throw UsageError("--if-exists and --if-match are for PUT; a form is sent with POST")
    }
    let url = try AddressArgument.url(address)
    let (common, notes) = try common(command, url, sources)
    var parts: [FormPart] = []
    for text in command.form.field {
      let (name, value) = try split(text, "--field name=value")
      parts.append(FormPart(name, .text(value)))
    }
    for text in command.form.form {
      let (name, value) = try split(text, "--form name=@FILE")
      guard let path = value.dropping(bytePrefix: "@").map(String.init), !path.isEmpty,
        !path.hasByte(0)
      else {
        throw UsageError("--form name=@FILE names a file; for a text, use --field name=value")
      }
      guard descriptor(path) == nil else {
        throw UsageError(
          "--form: a form needs the length of its files; save what \(path) gives to a file first")
      }
      parts.append(FormPart(name, .file(path)))
    }
    var upload = UploadRequest(form: parts, to: common.url)
    apply(common, to: &upload)
    var output = command.output.values
    output.resumes = false
    return PutPlan(
      requests: [upload],
      managerOptions: try ManagerOptions(
        command.limits, connections: 1, command.connections),
      output: output, notes: notes)
  }

  /// - Parameter form: how the option is written, for the message. The value may be a secret.
  private static func split(
    _ text: String, _ form: String
  ) throws(UsageError) -> (name: String, value: String) {
    guard let end = text.firstByteIndex(of: "="), end > text.startIndex else {
      throw UsageError("\(form): there is no name with a '=' after it")
    }
    return (String(text[..<end]), String(text[text.utf8.index(after: end)...]))
  }
}
