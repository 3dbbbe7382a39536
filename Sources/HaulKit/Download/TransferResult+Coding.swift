package import HaulCore
import HaulHTTP

extension TransferResult {
  /// Whether `decode` would have removed the content coding of the file.
  package var hasDecodableCoding: Bool { coding.map(ContentCodings.canDecode) ?? false }
}
