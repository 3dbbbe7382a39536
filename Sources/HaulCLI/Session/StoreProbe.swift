import FoundationEssentials
import HaulControl
import HaulCore
import HaulKit

/// Asks the stores of a run, each once, whether they obey conditions, and remembers what they said.
struct StoreProbe {
  /// What a run makes of a store that does not.
  enum Use: Hashable, Sendable {
    case nothing, warning, refusal
  }

  private struct Known: Codable {
    var conditions: S3ConditionProbe.Verdict
    /// Seconds since 1970.
    var asked: Double
  }

  /// A store may have another version by then.
  private static let lifetime: Double = 30 * 86_400

  private let use: Use
  private let now: Double
  /// Nil if nothing can be remembered.
  private let location: ControlLocation?
  private var known: [String: Known] = [:]

  init(_ use: Use, _ context: ProcessContext) {
    (self.use, now) = (use, context.clock.wallSeconds)
    location = try? ControlLocation(environment: context.environment)
  }

  private var file: StateFile? { location.map { StateFile(path: $0.stores) } }

  /// What cannot be read is asked for again.
  private func read() -> [String: Known] {
    let bytes = (try? file?.read()) ?? nil
    return bytes.flatMap { try? JSONDecoder().decode([String: Known].self, from: Data($0)) } ?? [:]
  }

  /// - Returns: notes for the user.
  /// - Throws: `refused` for a store that ignores conditions, where the run needs them; why that is
  ///   not known.
  mutating func run(
    _ uploads: [UploadRequest], _ manager: TransferManager
  ) async throws(TransferError) -> [String] {
    // Only with a remote source may another machine run the same transfer.
    let uploads = uploads.filter { $0.method == .s3 && $0.download != nil }
    guard use != .nothing, !uploads.isEmpty else { return [] }
    known = read()
    var (notes, asked) = ([String](), Set<ResourceURL.Origin>())
    for upload in uploads {
      let origin = upload.url.origin
      guard asked.insert(origin).inserted else { continue }
      do throws(TransferError) {
        guard try await verdict(on: upload, manager) == .ignored else { continue }
      } catch {
        guard use == .warning else { throw error.prefixed("\(origin.authority): ") }
        notes.append("whether \(origin.authority) obeys conditions is not known: \(error.message)")
        continue
      }
      let fact = "the store \(origin.authority) ignores conditions (If-None-Match, If-Match)"
      guard use == .warning else {
        throw TransferError(
          .refused, fact,
          advice: "of two runs, a later one could replace a newer object; run one at a time, "
            + "without --workers-may-overlap")
      }
      notes.append("\(fact): of two runs at once, a later one may replace a newer object")
    }
    return notes
  }

  private mutating func verdict(
    on upload: UploadRequest, _ manager: TransferManager
  ) async throws(TransferError) -> S3ConditionProbe.Verdict {
    let (origin, name) = (upload.url.origin, "\(upload.url.origin.scheme)://")
    let key = name + origin.authority
    if let known = known[key], (0..<Self.lifetime).contains(now - known.asked) {
      return known.conditions
    }
    let verdict = try await manager.conditions(ofStoreOf: upload)
    known[key] = Known(conditions: verdict, asked: now)
    // If it is not stored, the next run asks again.
    if let bytes = try? JSONEncoder().encode(known), (try? location?.prepareDirectory()) != nil {
      try? file?.write(bytes)
    }
    return verdict
  }
}
