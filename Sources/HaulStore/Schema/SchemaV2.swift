/// Marks and indexes the members with an exact target path, so that `open` can read these paths
/// without reading the other members.
enum SchemaV2 {
  static let statements = [
    "ALTER TABLE requests ADD COLUMN is_exact INTEGER NOT NULL DEFAULT 0",
    "UPDATE requests SET is_exact = 1 WHERE json_extract(form, '$.download.destination') = 'file'",
    "CREATE INDEX requests_of_exact_targets ON requests (member) WHERE is_exact <> 0",
  ]
}
