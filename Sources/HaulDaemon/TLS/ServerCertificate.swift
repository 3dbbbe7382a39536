import Crypto
import HaulControl
import HaulCore
import HaulFiles
import HaulLibC
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL

/// The certificate of the listeners and its key. Files that are replaced, as an ACME client does,
/// are read again while the daemon runs.
final class ServerCertificate: Sendable {
  private struct State {
    var context: NIOSSLContext
    var fingerprint: String
    var stamps: [FileStamp]
  }

  /// How long a replaced file may go unnoticed.
  private static let interval: Duration = .seconds(5)
  /// The most bytes of a file.
  private static let limit = 1 << 20
  /// A client that does not answer the end of TLS does not keep its connection for that.
  private static let shutdownTimeout: TimeAmount = .milliseconds(100)

  private let certificate: String
  private let key: String
  private let logger: Logger
  private let state: NIOLockedValueBox<State>

  /// - Throws: `permission-denied` when others may use the key; `io`; `tls`.
  init(
    _ source: CertificateSource, _ access: RemoteAccess, at location: ControlLocation,
    _ logger: Logger
  ) throws(TransferError) {
    switch source {
    case .files(let certificate, let key): (self.certificate, self.key) = (certificate, key)
    case .selfSigned:
      (certificate, key) = (location.certificate, location.certificate)
      try SelfSigned.prepare(at: location.certificate, access)
    }
    self.logger = logger
    let stamps = [FileStamp(certificate), FileStamp(key)]
    let (context, fingerprint) = try Self.load(certificate, key)
    state = NIOLockedValueBox(
      State(context: context, fingerprint: fingerprint, stamps: stamps))
    logger.info("the certificate has the SHA-256 fingerprint \(fingerprint)")
  }

  /// For a new connection.
  var context: NIOSSLContext { state.withLockedValue { $0.context } }

  /// SHA-256 of the certificate, as browsers show it.
  var fingerprint: String { state.withLockedValue { $0.fingerprint } }

  /// Reads the files again when they have changed, until it is cancelled.
  @concurrent
  func watch() async {
    while (try? await Task.sleep(for: Self.interval)) != nil { reloadIfChanged() }
  }

  /// A file that cannot be used, perhaps because it is being replaced, is read again when it has
  /// changed; until then the old certificate stays.
  private func reloadIfChanged() {
    let stamps = [FileStamp(certificate), FileStamp(key)]
    guard state.withLockedValue({ $0.stamps }) != stamps else { return }
    do throws(TransferError) {
      try reload()
    } catch {
      state.withLockedValue { $0.stamps = stamps }
      logger.error("the old certificate stays: \(error.message)")
    }
  }

  /// Reads the files again now.
  /// - Throws: as `init`; the old certificate stays then.
  func reload() throws(TransferError) {
    let stamps = [FileStamp(certificate), FileStamp(key)]
    let (context, new) = try Self.load(certificate, key)
    let old = state.withLockedValue { state in
      defer { state = State(context: context, fingerprint: new, stamps: stamps) }
      return state.fingerprint
    }
    guard new != old else { return }
    logger.info("the certificate was read again; its SHA-256 fingerprint is \(new)")
  }

  private static func load(
    _ certificate: String, _ key: String
  ) throws(TransferError) -> (NIOSSLContext, fingerprint: String) {
    let pem = try read(certificate, isKey: false)
    let secret = try read(key, isKey: true)
    do {
      let chain = try NIOSSLCertificate.fromPEMBytes(pem)
      guard let leaf = chain.first else { throw NIOSSLError.failedToLoadCertificate }
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(bytes: secret, format: .pem)))
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["http/1.1"]
      configuration.shutdownTimeout = shutdownTimeout
      let digest = Array(SHA256.hash(data: try leaf.toDERBytes()))
      let fingerprint = digest.map { [$0].hexDigits.uppercased() }.joined(separator: ":")
      return (try NIOSSLContext(configuration: configuration), fingerprint)
    } catch {
      throw TransferError(
        .tls, "\(certificate) and \(key) are not a certificate and its key",
        advice: "give PEM files: the certificate with its chain, and the key without a password")
    }
  }

  private static func read(_ path: String, isKey: Bool) throws(TransferError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      throw TransferError(.io, "cannot read \(path): \(SystemError.text(errno))")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw TransferError(.io, "\(path) is not a file")
    }
    // A group may read it: that of an ACME client.
    guard !isKey || status.st_mode & 0o027 == 0 else {
      throw TransferError(
        .permissionDenied, "other users may use the key \(path)", advice: "run: chmod 640 \(path)")
    }
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = bytes.withUnsafeMutableBytes { readAll(file, into: $0) }
    guard count >= 0 else {
      throw TransferError(.io, "cannot read \(path): \(SystemError.text(errno))")
    }
    return Array(bytes.prefix(count))
  }
}
