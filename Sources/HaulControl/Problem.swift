package import HaulCore

/// Why a call failed, as RFC 9457 describes it.
package struct Problem: Error, Codable, Hashable, Sendable {
  /// The status of the answer.
  package let status: Int
  /// The status in words.
  package let title: String
  /// What failed, and what to do.
  package let detail: String
  /// The code of the error that caused it; nil for a fault of the call itself.
  package let code: String?

  package static let contentType = "application/problem+json"

  package init(_ status: Int, _ title: String, _ detail: String, code: String? = nil) {
    (self.status, self.title, self.detail, self.code) = (status, title, detail, code)
  }

  /// A fault of the call.
  package static func badRequest(_ detail: String) -> Problem {
    Problem(400, "Bad Request", detail)
  }

  package static func notFound(_ detail: String) -> Problem { Problem(404, "Not Found", detail) }

  /// The error of a command or of the store.
  package init(_ error: TransferError) {
    let (status, title): (Int, String) =
      switch error.code {
      case .inUse, .nameConflict, .dependencyFailed, .refused: (409, "Conflict")
      case .badURL, .unsupportedScheme, .badName: (422, "Unprocessable Content")
      case .diskFull: (507, "Insufficient Storage")
      case .interrupted: (503, "Service Unavailable")
      default: (500, "Internal Server Error")
      }
    self.init(status, title, error.message, code: error.code.rawValue)
  }
}
