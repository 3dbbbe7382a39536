/// The options of each kind of request. Not here: what is transferred and where to, which each
/// border writes in its own way, and header fields, which are secrets.
extension DownloadRequest {
  package static let fields = RequestFields<DownloadRequest>([
    .init(
      \.createsDirectories, "creates_directories", stored: "createsDirectories", missing: false),
    .init(\.ifExists, "if_exists", stored: "ifExists", missing: .update),
    .init(\.durability, "durability", stored: "durability", missing: .strict),
    .init(
      \.checksums, "checksums", .list, stored: "checksum", as: .words, missing: [],
      isOfSource: true),
    .init(
      \.connections, "connections", .positive, stored: "connections", missing: 8, isOfSource: true),
    .init(\.rateLimit, "rate_limit", .rate, stored: "rateLimit", missing: nil),
    .init(\.minimumSplit, "minimum_split", .positive, stored: "minimumSplit", missing: 1 << 20),
    .init(
      \.maximumSize, "maximum_size", .size, stored: "maximumSize", missing: nil, isOfSource: true),
    .init(\.decodesContent, "decodes_content", stored: "decodesContent", missing: false),
    .init(\.usesSuggestedName, "uses_server_name", stored: "usesSuggestedName", missing: false),
    .init(\.startOver, "start_over", stored: "startOver", missing: false),
    .init(\.allowUnverified, "allow_unverified", stored: "allowUnverified", missing: false),
    .init(
      \.resumesFromOtherURL, "resumes_from_another_address", stored: "resumesFromOtherURL",
      missing: false, isOfSource: true),
    .init(
      \.allowInsecure, "allow_insecure", stored: "allowInsecure", missing: false, isOfSource: true),
    .init(\.region, "region", stored: "region", missing: nil, isOfSource: true),
    .init(\.keySource, "key_source", stored: "keySource", missing: nil, isOfSource: true),
    .init(\.bearerFile, "bearer_file", stored: "bearerFile", missing: nil, isOfSource: true),
    .init(\.creationMask, "umask", .octal, stored: "creationMask", missing: nil),
    .init(
      \.trustedRedirectHosts, "trusted_redirect_hosts", .sorted, stored: "trustedRedirectHosts",
      as: .sorted, missing: [], isOfSource: true),
    .init(\.roots, stored: "roots", missing: nil),
    .init(\.hasFieldsOfClient, stored: "hasFieldsOfClient", missing: false),
    .init(\.hasNoRanges, stored: "hasNoRanges", missing: false),
    .init(\.retry.retries, "retries", .count, stored: "retries", missing: 8),
    .init(
      \.retry.maximumTimeWithoutProgress, "maximum_retry_time", .seconds,
      stored: "maximumRetryTime", as: .components, missing: .seconds(3600)),
  ])
}

extension UploadRequest {
  package static let fields = RequestFields<UploadRequest>([
    .init(\.method, "method", .name, stored: "method", missing: .put),
    .init(\.region, "region", stored: "region", missing: nil),
    .init(\.keySource, "key_source", stored: "keySource", missing: nil),
    .init(\.bearerFile, "bearer_file", stored: "bearerFile", missing: nil),
    .init(\.precondition, stored: "precondition", as: .tag, missing: .none),
    .init(\.ifExists, stored: "ifExists", missing: .overwrite),
    .init(\.rateLimit, "rate_limit", .rate, stored: "rateLimit", missing: nil),
    .init(\.allowInsecure, "allow_insecure", stored: "allowInsecure", missing: false),
    .init(\.roots, stored: "roots", missing: nil),
    .init(\.listed, stored: "listed", missing: nil),
    .init(\.listedIn, stored: "listedIn", missing: nil),
    .init(\.retry.retries, "retries", .count, stored: "retries", missing: 8),
    .init(
      \.retry.maximumTimeWithoutProgress, "maximum_retry_time", .seconds,
      stored: "maximumRetryTime", as: .components, missing: .seconds(3600)),
  ])
}

extension StepRequest {
  package static let fields = RequestFields<StepRequest>([
    .init(\.isIdempotent, "is_idempotent", stored: "isIdempotent", missing: false)
  ])
}

extension TransferRequest {
  package static let fields = RequestFields<TransferRequest>([
    .init(\.identifier, "identifier", .name, missing: nil),
    .init(\.group, "group", .name, missing: nil),
    .init(\.priority, "priority", .name, stored: "priority", missing: .default),
    .init(\.whenDependencyFails, "when_dependency_fails", missing: .block),
    .init(
      \.reportsProgress, "reports_progress", stored: "isQuiet", as: .inverted, missing: true),
    .init(\.userInfo, "user_info", stored: "userInfo", missing: [:]),
    .init(\.startSeconds, "starts_at", .startTime, stored: "startsAt", missing: nil),
    .init(\.repetition, "every", .words, stored: "every", as: .words, missing: nil),
  ])
}
