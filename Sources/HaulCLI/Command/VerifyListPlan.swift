import FoundationEssentials
package import HaulCore
import HaulKit

/// The files that `haul verify -c` checks.
package struct VerifyListPlan: CommandPlan, Hashable {
  package struct File: Hashable, Sendable {
    package var path: String
    package var checksums: [Checksum]
  }

  package var files: [File]
  /// The name of the list, for messages.
  package var list: String
  package var notes: [String]
  package var ignoresMissing: Bool
  package var quiet: Bool
  /// Prints the names of what fails, and nothing else.
  package var namesOnly = false

  /// Prints a line for each file, as sha256sum does, and on standard error what they come to.
  package func run(in context: ProcessContext) async -> ExitStatus {
    if !quiet { for note in notes { await OutputStream.warn(note) } }
    var (matching, different, unreadable) = (0, 0, 0)
    for file in files {
      let name = shown(file.path)
      let line: String?
      do throws(TransferError) {
        try await FileVerifier.verify(path: file.path, checksums: file.checksums)
        matching += 1
        line = quiet || namesOnly ? nil : "OK"
      } catch {
        let isMissing = !FileManager.default.fileExists(atPath: file.path)
        if isMissing, ignoresMissing { continue }
        if error.code == .checksumMismatch { different += 1 } else { unreadable += 1 }
        let reason = Messages.shown(error.commandLineText)
        line = error.code == .checksumMismatch ? "FAILED" : "FAILED open or read: \(reason)"
      }
      guard let line else { continue }
      let status = await OutputStream.show(namesOnly ? "\(name)\n" : "\(name): \(line)\n")
      guard status == .completed else { return status }
    }
    if different > 0 {
      await OutputStream.warn("\(Units.count(different)) of \(counted) do not match \(list)")
    }
    if unreadable > 0 {
      await OutputStream.warn("\(Units.count(unreadable)) of \(counted) cannot be read")
    }
    guard matching + different + unreadable > 0 else {
      return await OutputStream.fail("no file that \(list) names is there")
    }
    return different + unreadable == 0 ? .completed : .failed
  }

  /// A program gets names as they are, except those with a line break.
  private func shown(_ path: String) -> String {
    namesOnly && !path.hasBytes("\n") ? path : Messages.shown(path)
  }

  private var counted: String { files.count == 1 ? "1 file" : "\(Units.count(files.count)) files" }
}
