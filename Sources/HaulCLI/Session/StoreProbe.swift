import FoundationEssentials
import HaulControl
import HaulCore
import HaulKit

/// Asks the buckets of a run, each once, whether their store obeys conditions, and remembers what
/// it said.
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
  private let bucketsAreInHosts: Bool
  private let now: Double
  /// Nil if nothing can be remembered.
  private let location: ControlLocation?
  private var known: [String: Known] = [:]

  init(_ output: OutputOptions, _ context: ProcessContext) {
    (use, bucketsAreInHosts) = (output.probe, output.bucketsAreInHosts)
    now = context.clock.wallSeconds
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
    var (notes, asked) = ([String](), Set<String>())
    for upload in uploads {
      let bucket = S3Place.bucket(of: upload.url, isInHost: bucketsAreInHosts)
      guard asked.insert(bucket).inserted else { continue }
      do throws(TransferError) {
        let verdict = try await verdict(on: bucket, upload, manager, &notes)
        guard let (fact, advice) = Self.words(on: verdict, bucket) else { continue }
        guard use == .warning else { throw TransferError(.refused, fact, advice: advice) }
        notes.append("\(fact): of two runs at once, a later one may replace a newer object")
      } catch {
        guard use == .warning else { throw error }
        notes.append("whether \(bucket) obeys conditions is not known: \(error.message)")
      }
    }
    return notes
  }

  /// Nil if it obeys them.
  private static func words(
    on verdict: S3ConditionProbe.Verdict, _ bucket: String
  ) -> (fact: String, advice: String)? {
    switch verdict {
    case .obeyed: nil
    case .ignored:
      (
        "the store ignores conditions (If-None-Match, If-Match) in \(bucket)",
        "of two runs, a later one could replace a newer object; run one at a time, without "
          + "--workers-may-overlap"
      )
    case .unasked:
      (
        "the store does not say which object it has (HEAD) in \(bucket), so nothing is sent on a "
          + "condition",
        "of two runs, a later one could replace a newer object; let the key read objects"
      )
    }
  }

  private mutating func verdict(
    on bucket: String, _ upload: UploadRequest, _ manager: TransferManager, _ notes: inout [String]
  ) async throws(TransferError) -> S3ConditionProbe.Verdict {
    // Rights and stores are repaired: only a good answer saves a run that needs one the question.
    if let known = known[bucket], (0..<Self.lifetime).contains(now - known.asked),
      known.conditions == .obeyed || use == .warning
    {
      return known.conditions
    }
    let probe = try await manager.conditions(ofStoreOf: upload)
    if probe.hasRemains {
      notes.append(
        "a scratch object stays, which the key may not delete: \(probe.request.url.redacted) "
          + "(--no-probe makes none)")
    }
    let verdict: S3ConditionProbe.Verdict
    do throws(TransferError) {
      verdict = try probe.verdict()
    } catch {
      throw error.prefixed("the scratch object in \(bucket): ")
    }
    known[bucket] = Known(conditions: verdict, asked: now)
    // If it is not stored, the next run asks again.
    if let bytes = try? JSONEncoder().encode(known), (try? location?.prepareDirectory()) != nil {
      try? file?.write(bytes)
    }
    return verdict
  }
}
