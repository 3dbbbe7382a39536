package import HaulCore

/// What `haul verify` checks.
package struct VerifyPlan: Hashable, Sendable {
  package var path: String
  package var checksums: [Checksum]
  package var quiet: Bool

  package init(path: String, checksums: [Checksum], quiet: Bool) {
    self.path = path
    self.checksums = checksums
    self.quiet = quiet
  }
}

extension VerifyPlan {
  init(_ command: VerifyCommand) throws(UsageError) {
    guard !command.path.isEmpty, !command.path.hasBytes("\0") else {
      throw UsageError("the file's name is empty or has a NUL")
    }
    path = command.path
    checksums = try GetPlan.checksums(command.checksums)
    quiet = command.quiet ?? false
  }
}
