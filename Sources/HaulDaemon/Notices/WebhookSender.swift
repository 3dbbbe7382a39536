import Crypto
import FoundationEssentials
import HaulControl
import HaulCore
import HaulHTTP
import HaulKit

/// Posts notices to a server.
struct WebhookSender: NoticeSender {
  let webhook: NoticeSettings.Webhook
  let transport: HTTPTransport

  private static let deadline: Duration = .seconds(10)

  func send(_ notice: Notice) async throws(NoticeOutbox.Failure) {
    let receipt: HTTPTransport.Receipt
    do {
      let body = Array(try StrictJSON.encode(notice))
      receipt = try await transport.post(
        body, fields(notice, body), to: webhook.url, publicOnly: !webhook.mayBePrivate,
        within: Self.deadline, at: SystemClock().wallSeconds)
    } catch let error as TransferError {
      let hint =
        error.code == .redirectRefused ? "; to allow that, write: webhook-private = true" : ""
      throw NoticeOutbox.Failure(
        "\(webhook.url.origin): \(error.message)\(hint)", isTemporary: error.isRetryable)
    } catch {
      throw NoticeOutbox.Failure("the notice cannot be written as JSON")
    }
    guard !(200..<300).contains(receipt.status) else { return }
    throw NoticeOutbox.Failure(
      "\(webhook.url.origin): HTTP \(receipt.status)",
      isTemporary: [408, 425, 429].contains(receipt.status) || receipt.status >= 500,
      retryAfter: receipt.retryAfter)
  }

  private func fields(_ notice: Notice, _ body: [UInt8]) -> HeaderFields {
    var fields = [("Content-Type", "application/json"), ("Idempotency-Key", notice.id)]
    if let secret = webhook.secret {
      fields.append(("X-Haul-Signature", "sha256=\(Self.signature(of: body, secret))"))
    }
    return HeaderFields(fields)
  }

  /// HMAC-SHA256 (RFC 2104), in hexadecimal digits.
  private static func signature(of body: [UInt8], _ secret: NoticeSecret) -> String {
    HMAC<SHA256>.authenticationCode(for: body, using: SymmetricKey(data: secret.bytes)).hexDigits
  }
}
