import HaulCore

/// The body that the login page sends: `application/x-www-form-urlencoded`.
package enum LoginForm {
  /// The bytes of the password; nil for any other body.
  package static func password(_ body: some Sequence<UInt8>) -> [UInt8]? {
    let text = String(decoding: Array(body), as: UTF8.self)
    guard let value = text.dropping(bytePrefix: "password="), !value.hasBytes("&") else {
      return nil
    }
    let bytes = PercentCoding.decoded(value.replacingBytes("+", with: " "))
    // The hash of a password is that of the same one with NULs behind it.
    return bytes.contains(0) ? nil : bytes
  }
}
