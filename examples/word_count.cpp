/// Counts the words of text files: map, shuffle and reduce.
///
/// Each piece of text goes to a task that counts its words into as many parts as there are
/// reducers; a reducer gets the handles of its part from all pieces, and merges them. So the counts
/// go from mapper to reducer without passing through this program. A word is a run of the letters A
/// to Z, upper and lower case being the same.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <ray/ray.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "options.hpp"

namespace {

using counts = std::unordered_map<std::string, std::int64_t>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The map task: the words of `text`, each in the part that its hash names.
std::vector<ray::future<counts>> count_words(const std::string& text, std::size_t parts) {
  std::vector<counts> result(parts);
  std::string word;
  const auto count = [&] {
    if (!word.empty()) ++result[std::hash<std::string>{}(word) % parts][word];
    word.clear();
  };
  for (const char c : text) {
    if (is_letter(c)) {
      word += lower(c);
    } else {
      count();
    }
  }
  count();
  std::vector<ray::future<counts>> handles;
  for (auto& part : result) handles.push_back(ray::put(std::move(part)));
  return handles;
}

/// The reduce task. `view` reads each part where it lies, without a copy.
counts merge(const std::vector<ray::future<counts>>& parts) {
  counts result;
  for (const auto& part : parts) {
    const auto words = part.view();
    for (const auto& [word, count] : *words) result[word] += count;
  }
  return result;
}

/// Cuts a file into pieces of about `size` bytes, none of which ends within a word.
template <typename Function>
void for_each_piece(const std::string& path, std::size_t size, Function use) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened: does it exist?");
  std::string piece;
  while (file) {
    const std::size_t kept = piece.size();
    piece.resize(kept + size);
    file.read(piece.data() + kept, static_cast<std::streamsize>(size));
    piece.resize(kept + static_cast<std::size_t>(file.gcount()));
    if (file.bad()) throw std::runtime_error(path + " cannot be read: is it a plain file?");
    auto end = piece.end();
    if (!file.eof()) {
      while (end != piece.begin() && is_letter(*(end - 1))) --end;
    }
    std::string rest(end, piece.end());
    piece.erase(end, piece.end());
    if (!piece.empty()) use(std::move(piece));
    piece = std::move(rest);
  }
}

/// The same in one loop, to check the result against.
counts count_serially(const std::vector<std::string>& files) {
  counts result;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    std::string word;
    for (std::istreambuf_iterator<char> it(file), end;; ++it) {
      if (it != end && is_letter(*it)) {
        word += lower(*it);
        continue;
      }
      if (!word.empty()) ++result[word];
      word.clear();
      if (it == end) break;
    }
  }
  return result;
}

const std::string licence = "/usr/share/common-licenses/GPL-3";  // on every Debian, 35149 bytes
const counts licence_counts = {{"the", 345}, {"of", 221},  {"to", 192},      {"a", 184},
                               {"or", 151},  {"you", 128}, {"license", 102}, {"and", 98}};

}  // namespace

int main(int argc, char** argv) try {
  auto session = ray::init(argc, argv);
  example::options options(argc, argv, "Counts the words of text files: word_count [FILE]...");
  const auto top = options.number<std::size_t>("top", 10, 0, 1'000'000, "words to print");
  const auto parts = options.number<std::size_t>("reducers", 4, 1, 1'000, "reduce tasks");
  const auto size =
      options.number<std::size_t>("piece", 1 << 20, 1, 1 << 30, "bytes of text in one map task");
  auto files = options.rest("the files (" + licence + ")");
  if (const auto status = options.done()) return *status;
  const bool default_file = files.empty();
  if (default_file) files = {licence};

  const auto map = ray::remote(count_words);
  const auto reduce = ray::remote(merge);
  std::size_t bytes = 0;
  std::int64_t lines = 0;
  std::vector<ray::future<std::vector<ray::future<counts>>>> mapped;
  for (const auto& path : files) {
    for_each_piece(path, size, [&](std::string text) {
      bytes += text.size();
      lines += std::ranges::count(text, '\n');
      // An object, not a plain argument: what does not fit into memory is spilled to disk.
      mapped.push_back(map(ray::put(std::move(text)), parts));
    });
  }
  const auto rows = ray::get(std::move(mapped));
  std::vector<ray::future<counts>> reduced;
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<ray::future<counts>> column;
    for (const auto& row : rows) column.push_back(row[part]);
    reduced.push_back(reduce(std::move(column)));
  }

  counts all;
  for (auto& words : ray::get(std::move(reduced))) all.merge(std::move(words));
  std::vector<std::pair<std::string, std::int64_t>> sorted(all.begin(), all.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::int64_t words = 0;
  for (const auto& [word, count] : sorted) words += count;
  for (std::size_t i = 0; i < std::min(top, sorted.size()); ++i) {
    std::printf("%10lld  %s\n", static_cast<long long>(sorted[i].second), sorted[i].first.c_str());
  }
  std::printf("%lld words, %zu of them different, in %lld lines, %zu bytes, %zu files\n",
              static_cast<long long>(words), sorted.size(), static_cast<long long>(lines), bytes,
              files.size());

  bool good = all == count_serially(files);
  if (default_file && bytes == 35149) {
    good = good && lines == 674;
    for (const auto& [word, count] : licence_counts) good = good && all[word] == count;
  }
  std::printf("%s one loop over the files\n", good ? "Right: the same as" : "WRONG: differs from");
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "word_count: " << error.what() << '\n';
  return 2;
}
