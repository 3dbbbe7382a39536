import HaulControl
import HaulCore
import HaulKit
import HaulLibC

/// Sets the password of the login page. The daemon need not run; one that runs uses it at once.
enum PasswordChange {
  static func plan(isRemoval: Bool, _ sources: CommandSources) -> any CommandPlan {
    // A wrong haul.conf does not keep anybody from removing a password.
    let next = isRemoval ? try? ServePlan.configured(sources) : nil
    return ControlPlan { session in
      let location = session.location
      try location.prepareDirectory()
      let access = try AccessList(file: location.access)
      guard !isRemoval else {
        try access.setPassword(nil)
        let status = await OutputStream.show(
          "the password was removed, and the sessions that began with it have ended\n")
        if let refusal = next?.remote.refusal(hasPassword: false) {
          await OutputStream.warn("the daemon will not start again: \(refusal.message)")
        }
        return status
      }
      let password = try newPassword()
      let isNew = access.password == nil
      try access.setPassword(try PasswordHash(password))
      return await OutputStream.show(
        "the password was set\(isNew ? "" : ", and the sessions of the old one have ended")\n")
    }
  }

  /// Twice from the terminal, or a line of standard input.
  private static func newPassword() throws(UsageError) -> [UInt8] {
    guard isatty(STDIN_FILENO) == 1 else { return try checked(line()) }
    guard let first = try PasswordPrompt.ask("New password for the page: ", "haul ui password")
    else { throw UsageError("there is no terminal to ask for the password") }
    let password = try checked(Array(first.utf8))
    let again = try PasswordPrompt.ask("The same again: ", "haul ui password")
    guard again.map({ Array($0.utf8) }) == password else {
      throw UsageError("the passwords differ; nothing was changed")
    }
    return password
  }

  private static func checked(_ password: [UInt8]) throws(UsageError) -> [UInt8] {
    guard PasswordHash.lengths.contains(password.count) else {
      throw UsageError(
        "a password has \(PasswordHash.lengths.lowerBound) to \(PasswordHash.lengths.upperBound) "
          + "bytes; better are four words or more that you use nowhere else")
    }
    return password
  }

  /// The first line of standard input, without its end.
  private static func line() throws(UsageError) -> [UInt8] {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.count <= PasswordHash.lengths.upperBound {
      let count = read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw UsageError("cannot read standard input: \(SystemError.text(errno))")
      }
      guard count == 1, byte != 0x0A else { break }
      bytes.append(byte)
    }
    if bytes.last == 0x0D { bytes.removeLast() }
    return bytes
  }
}
